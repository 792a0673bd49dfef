#include <fcntl.h>

#include <cerrno>

#include "store/container.h"
#include "store/files.h"

namespace flowscope::store {
namespace {

class Folder : public Container {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  Result<Member> Open(const std::string& name) const override {
    const std::string path = path_ + "/" + name;
    if (name.find('/') != std::string::npos || !Exists(path)) {
      return NotFound(path_ + " has no file " + name);
    }
    const Result<File> file = File::OpenRead(path, /*follow=*/false);
    if (!file.ok()) return file.status();
    Result<std::shared_ptr<const Mapping>> mapping = Mapping::Map(*file);
    if (!mapping.ok()) return mapping.status();
    return Member{(*mapping)->bytes(), *mapping};
  }

  std::string path() const override { return path_; }

 private:
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Container>> OpenFolder(const std::string& path) {
  if (!IsFolder(path)) return NotFound("there is no folder " + path);
  return std::unique_ptr<Container>(std::make_unique<Folder>(path));
}

}  // namespace flowscope::store
