#include "export/new_file.h"

#include <sys/stat.h>

namespace flowscope::exports {

Result<NewFile> NewFile::Create(const std::string& path, bool overwrite) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is there and is no plain file");
    if (!overwrite) {
      return InvalidArgument(path +
                             " exists: pass overwrite=True (on the command line --overwrite) to "
                             "replace it, or choose another name");
    }
  }
  std::string temporary = store::TemporaryBeside(path);
  Result<store::File> file = store::File::Create(temporary);
  if (!file.ok()) return store::SystemError("write", path);
  return NewFile(path, std::move(temporary), std::move(file).value());
}

NewFile::~NewFile() {
  if (!temporary_.empty()) (void)store::RemoveFile(temporary_);
}

Status NewFile::PutIntoPlace() {
  FLOWSCOPE_RETURN_IF_ERROR(store::Rename(temporary_, path_));
  temporary_.clear();
  return Status::Ok();
}

}  // namespace flowscope::exports
