// Where the files of a trace lie: in a folder, or stored in a zip. Nothing here writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace flowscope::store {

// Bytes of one file with what keeps them mapped.
struct Member {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

class Container {
 public:
  virtual ~Container() = default;

  // NotFound where there is no such file. Names have no slash: nothing outside is reached.
  virtual Result<Member> Open(const std::string& name) const = 0;
  virtual std::string path() const = 0;
};

Result<std::unique_ptr<Container>> OpenFolder(const std::string& path);
// Only entries that are stored as they are count; Corruption for anything that contradicts itself.
Result<std::unique_ptr<Container>> OpenZip(const std::string& path);

}  // namespace flowscope::store
