// A file that is there whole or not at all.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "store/temporary.h"

namespace flowscope::exports {

// Written beside `path` and renamed. Removed again where it was not put into place.
class NewFile {
 public:
  // InvalidArgument for a path where something is already, a plain file only where `overwrite`.
  static Result<NewFile> Create(const std::string& path, bool overwrite);

  // What is to be written, by whoever opens it.
  const std::string& beside() const { return made_.path(); }
  Result<store::File> Open() const { return made_.Open(); }
  Status PutIntoPlace() { return made_.MoveTo(path_); }

 private:
  NewFile(std::string path, store::Temporary made)
      : path_(std::move(path)), made_(std::move(made)) {}

  std::string path_;
  store::Temporary made_;
};

}  // namespace flowscope::exports
