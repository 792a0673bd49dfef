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
  store::RemoveAbandoned(path);
  Result<store::Temporary> made = store::Temporary::PlainFile(path);
  if (!made.ok()) return made.status();
  return NewFile(path, std::move(made).value());
}

}  // namespace flowscope::exports
