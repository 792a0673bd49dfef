// What reader and repair share.
#pragma once

#include <memory>
#include <string>

#include "store/file_payloads.h"
#include "store/structure.h"

namespace flowscope::store {

// The structure and the values of what is stored at `path`.
struct Opened {
  StructureFile file;
  std::shared_ptr<const FilePayloads> payloads;
};
Result<Opened> Open(const std::string& path);

}  // namespace flowscope::store
