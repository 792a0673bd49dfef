// What is being written stands under a hidden name beside its target until it is whole, and whoever
// writes holds a mark on it. A process that is killed leaves the name and loses the mark: the next
// writer of the same target removes what it finds so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "store/files.h"

namespace flowscope::store {

// A lock on a file or folder that the system takes back when its process ends. Where the file
// system has none, `held` stays false and nothing counts as abandoned.
class WriteMark {
 public:
  WriteMark() = default;
  // Takes the descriptor; waits a moment where somebody is just looking.
  explicit WriteMark(File file);
  ~WriteMark() { Release(); }
  WriteMark(WriteMark&& other) noexcept
      : file_(std::move(other.file_)),
        held_(std::exchange(other.held_, false)),
        generation_(other.generation_) {}
  WriteMark& operator=(WriteMark&& other) noexcept;

  static WriteMark On(const std::string& path);
  bool held() const { return held_; }
  const File& file() const { return file_; }
  // Whether `path` is what was marked, under whatever name that was.
  bool IsAt(const std::string& path) const;
  void Release();

 private:
  File file_;
  bool held_ = false;
  uint64_t generation_ = 0;  // of the process that holds it
};

// True where a process that lives, this one included, has its mark on it.
bool IsBeingWritten(const std::string& path);

// A folder or file ".NAME.tmp" (".NAME.1.tmp" ... where that is taken) beside its target, gone with
// this object where it still stands under that name.
class Temporary {
 public:
  static constexpr mode_t kUsualFolder = 0755;
  static Result<Temporary> Folder(const std::string& target, mode_t mode = kUsualFolder);
  static Result<Temporary> PlainFile(const std::string& target);
  ~Temporary() { (void)Remove(); }
  Temporary(Temporary&& other) noexcept
      : path_(std::exchange(other.path_, {})), mark_(std::move(other.mark_)) {}
  Temporary& operator=(Temporary&&) = delete;

  const std::string& path() const { return path_; }
  // The mark goes along with what was made, whatever its name will be.
  WriteMark TakeMark() { return std::move(mark_); }
  // Of a plain file: open for reading and writing.
  Result<File> Open() const;
  // `target` is what was made from here on; nothing is left to remove.
  Status MoveTo(const std::string& target);
  // Removes what stands under the name now.
  Status Remove();

 private:
  Temporary(std::string path, WriteMark mark) : path_(std::move(path)), mark_(std::move(mark)) {}
  template <typename Make>
  static Result<Temporary> Take(const std::string& target, Make make);

  std::string path_;
  WriteMark mark_;
};

// Removes what processes that were killed have left beside `target`. What is not ours, marked or
// younger than two seconds stays: its writer may be about to mark it.
void RemoveAbandoned(const std::string& target);

// Whether a name in a folder is that of something that was not finished.
bool IsTemporaryName(std::string_view name);

}  // namespace flowscope::store
