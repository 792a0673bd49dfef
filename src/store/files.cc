#include "store/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace flowscope::store {
namespace {

constexpr mode_t kFileMode = 0644;

}  // namespace

Status SystemError(std::string_view action, const std::string& path) {
  const std::string reason = std::error_code(errno, std::generic_category()).message();
  return IoError(fmt::format("cannot {} {}: {}", action, path, reason));
}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    (void)Close();
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

Result<File> File::OpenRead(const std::string& path, bool follow) {
  // Non-blocking, so that a pipe in a hostile folder does not wait for a writer.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
  File file(::open(path.c_str(), flags), path);
  if (!file.open()) return SystemError("open", path);
  struct stat info{};
  if (::fstat(file.fd(), &info) != 0) return SystemError("look at", path);
  if (!S_ISREG(info.st_mode)) return IoError(path + " is not a regular file");
  return file;
}

Result<File> File::Create(const std::string& path) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  File file(::open(path.c_str(), flags, kFileMode), path);
  if (!file.open()) return SystemError("create", path);
  return file;
}

Result<uint64_t> File::Size() const {
  struct stat info{};
  if (::fstat(fd_, &info) != 0) return SystemError("look at", path_);
  return static_cast<uint64_t>(info.st_size);
}

Status File::WriteAt(uint64_t offset, const void* data, size_t nbytes) {
  const auto* at = static_cast<const char*>(data);
  while (nbytes > 0) {
    const ssize_t count = ::pwrite(fd_, at, nbytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError("write", path_);
    at += count;
    offset += static_cast<uint64_t>(count);
    nbytes -= static_cast<size_t>(count);
  }
  return Status::Ok();
}

// A file system that cannot (EINVAL) is none that could lose what others keep.
Status File::Sync() {
  if (::fsync(fd_) != 0 && errno != EINVAL) return SystemError("wait for the disk for", path_);
  return Status::Ok();
}

// Where it fails, Sync waits for all of it.
void File::BeginSync(uint64_t offset, uint64_t nbytes) const {
  (void)::sync_file_range(fd_, static_cast<off_t>(offset), static_cast<off_t>(nbytes),
                          SYNC_FILE_RANGE_WRITE);
}

Status File::Close() {
  if (fd_ < 0) return Status::Ok();
  if (::close(std::exchange(fd_, -1)) != 0) return SystemError("close", path_);
  return Status::Ok();
}

Result<std::shared_ptr<const Mapping>> Mapping::Map(const File& file) {
  const Result<uint64_t> size = file.Size();
  if (!size.ok()) return size.status();
  void* data = nullptr;
  if (*size > 0) {
    data = ::mmap(nullptr, *size, PROT_READ, MAP_SHARED, file.fd(), 0);
    if (data == MAP_FAILED) return SystemError("map", file.path());
  }
  return std::shared_ptr<const Mapping>(new Mapping(data, *size));
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(const_cast<void*>(data_), size_);
}

bool IsFolder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool Exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string WithoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string ResolvedPath(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::canonical(path, error);
  if (!error) return found.string();
  const auto absolute = std::filesystem::absolute(WithoutTrailingSlash(path), error);
  return error ? path : absolute.string();
}

namespace {

struct CloseEntries {
  void operator()(DIR* entries) const { ::closedir(entries); }
};
using Entries = std::unique_ptr<DIR, CloseEntries>;

// No link: what it leads to is not what the name says.
Result<Entries> OpenEntries(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return SystemError("read folder", folder);
  Entries entries(::fdopendir(fd));
  if (entries == nullptr) {
    ::close(fd);
    return SystemError("read folder", folder);
  }
  return entries;
}

template <typename Visit>
void ForNames(DIR* entries, Visit visit) {
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
}

}  // namespace

Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  const Result<Entries> entries = OpenEntries(folder);
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  ForNames(entries->get(), [&names](const char* name) { names.emplace_back(name); });
  return names;
}

Status RemoveFlat(const std::string& folder) {
  const Result<Entries> entries = OpenEntries(folder);
  if (!entries.ok()) return entries.status();
  Status status;
  ForNames(entries->get(), [&](const char* name) {
    if (::unlinkat(::dirfd(entries->get()), name, 0) != 0) {
      status = SystemError("remove", folder + "/" + name);
    }
  });
  if (!status.ok()) return status;
  if (::rmdir(folder.c_str()) != 0) return SystemError("remove folder", folder);
  return Status::Ok();
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError("remove", path);
  return Status::Ok();
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return SystemError("rename " + from + " to", to);
  return Status::Ok();
}

Status Exchange(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    return Status::Ok();
  }
  const size_t slash = to.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::string aside = fmt::format("{}.{}.old", to.substr(0, name), to.substr(name));
  FLOWSCOPE_RETURN_IF_ERROR(Rename(to, aside));
  if (const Status moved = Rename(from, to); !moved.ok()) {
    (void)Rename(aside, to);
    return moved;
  }
  return Rename(aside, from);
}

Status SyncPath(const std::string& path) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  if (!file.open()) return SystemError("open", path);
  FLOWSCOPE_RETURN_IF_ERROR(file.Sync());
  return file.Close();
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace flowscope::store
