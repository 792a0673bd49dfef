// A file that is there whole or not at all.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "store/files.h"

namespace flowscope::exports {

// Written beside `path` and renamed. Removed again where it was not put into place.
class NewFile {
 public:
  // InvalidArgument for a path where something is already, a plain file only where `overwrite`.
  static Result<NewFile> Create(const std::string& path, bool overwrite);
  ~NewFile();
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, {})),
        file_(std::move(other.file_)) {}
  NewFile& operator=(NewFile&&) = delete;

  // To be closed by whoever takes it.
  store::File TakeFile() { return std::move(file_); }
  Status PutIntoPlace();

 private:
  NewFile(std::string path, std::string temporary, store::File file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

  std::string path_;
  std::string temporary_;  // empty once it is in place
  store::File file_;
};

}  // namespace flowscope::exports
