// Files as the store needs them. Errors name the path, what the system said, and what was tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace flowscope::store {

// Owns a descriptor.
class File {
 public:
  File() = default;
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~File() { (void)Close(); }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Regular files only; a symbolic link at the end of the path is refused where `follow` is false.
  static Result<File> OpenRead(const std::string& path, bool follow = true);
  // A new file; an existing one is an error.
  static Result<File> Create(const std::string& path);

  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  Result<uint64_t> Size() const;
  Status WriteAt(uint64_t offset, const void* data, size_t nbytes);
  // What was written is on the disk afterwards.
  Status Sync();
  // The disk begins to take these bytes, so that there is less to wait for later.
  void BeginSync(uint64_t offset, uint64_t nbytes) const;
  Status Close();

 private:
  int fd_ = -1;
  std::string path_;
};

// Memory that shows a whole file, read-only, for as long as it lives. A file that is cut short
// meanwhile is the reader's death (SIGBUS), as for every mapping: the store never shortens one.
class Mapping {
 public:
  static Result<std::shared_ptr<const Mapping>> Map(const File& file);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  Mapping(const void* data, size_t size) : data_(data), size_(size) {}
  const void* data_;
  size_t size_;
};

bool IsFolder(const std::string& path);
bool Exists(const std::string& path);
// "a/b.flow/" -> "a/b.flow"
std::string WithoutTrailingSlash(std::string path);
// Absolute, so that a program may change its folder meanwhile, without a slash at the end, and with
// what a link leads to in place of the link: what is written stands beside its target.
std::string ResolvedPath(const std::string& path);
// Names in a folder, without order.
Result<std::vector<std::string>> NamesIn(const std::string& folder);
// Removes a folder of ours and the plain files in it; what is not ours stays and is an error. A
// link to a folder is none.
Status RemoveFlat(const std::string& folder);
Status RemoveFile(const std::string& path);
Status Rename(const std::string& from, const std::string& to);
// Puts each under the other's name, in one step where the file system can. Elsewhere `to` stands as
// ".NAME.old" beside its place for a moment, and nothing ever removes that but its owner.
Status Exchange(const std::string& from, const std::string& to);
// What the file holds, or which names stand in the folder, is on the disk afterwards.
Status SyncPath(const std::string& path);
// The folder that `path` stands in.
std::string ParentOf(const std::string& path);
// "cannot ACTION PATH: REASON", from errno.
Status SystemError(std::string_view action, const std::string& path);

}  // namespace flowscope::store
