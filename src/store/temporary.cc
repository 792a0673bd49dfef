#include "store/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "store/process.h"

namespace flowscope::store {
namespace {

constexpr std::string_view kSuffix = ".tmp";
// So many can write one target at the same time.
constexpr int kMaxNames = 1000;
// Abandoned ones are looked for among the first names: nobody else gets as far.
constexpr int kUsualNames = 8;
constexpr time_t kSecondsUntilMarked = 2;
constexpr int kTries = 20;

std::string NameBeside(const std::string& target, int number) {
  const size_t slash = target.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::string count = number == 0 ? "" : fmt::format(".{}", number);
  return fmt::format("{}.{}{}{}", target.substr(0, name), target.substr(name), count, kSuffix);
}

File OpenToMark(const std::string& path) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  return {::open(path.c_str(), flags), path};
}

bool IsOursAndOld(const File& file) {
  struct stat info{};
  if (::fstat(file.fd(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  const bool known = S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
  return known && info.st_mtime + kSecondsUntilMarked < ::time(nullptr);
}

Status RemoveAny(const std::string& path) {
  struct stat info{};
  const bool folder = ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return folder ? RemoveFlat(path) : RemoveFile(path);
}

// True where nothing stands under the name any more.
bool RemoveIfAbandoned(const std::string& path) {
  File file = OpenToMark(path);
  if (!file.open() || !IsOursAndOld(file)) return false;
  const WriteMark mark(std::move(file));
  return mark.held() && mark.IsAt(path) && RemoveAny(path).ok();
}

}  // namespace

WriteMark::WriteMark(File file) : file_(std::move(file)), generation_(ProcessGeneration()) {
  for (int i = 0; file_.open() && !held_ && i < kTries; ++i) {
    held_ = ::flock(file_.fd(), LOCK_EX | LOCK_NB) == 0;
    if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

WriteMark& WriteMark::operator=(WriteMark&& other) noexcept {
  if (this != &other) {
    Release();
    file_ = std::move(other.file_);
    held_ = std::exchange(other.held_, false);
    generation_ = other.generation_;
  }
  return *this;
}

WriteMark WriteMark::On(const std::string& path) { return WriteMark(OpenToMark(path)); }

bool WriteMark::IsAt(const std::string& path) const {
  struct stat marked{};
  struct stat there{};
  return file_.open() && ::fstat(file_.fd(), &marked) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         marked.st_dev == there.st_dev && marked.st_ino == there.st_ino;
}

// Said aloud: a process that was forked meanwhile has the descriptor too. That one says nothing.
void WriteMark::Release() {
  if (held_ && generation_ == ProcessGeneration()) ::flock(file_.fd(), LOCK_UN);
  held_ = false;
  (void)file_.Close();
}

bool IsBeingWritten(const std::string& path) {
  const File file = OpenToMark(path);
  if (!file.open()) return false;
  if (::flock(file.fd(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(file.fd(), LOCK_UN);
  return false;
}

// `make` gives 0, or -1 and errno.
template <typename Make>
Result<Temporary> Temporary::Take(const std::string& target, Make make) {
  for (int number = 0; number < kMaxNames; ++number) {
    std::string path = NameBeside(target, number);
    bool made = make(path.c_str()) == 0;
    if (!made && errno != EEXIST) return SystemError("write", target);
    if (!made && RemoveIfAbandoned(path)) made = make(path.c_str()) == 0;
    if (!made) continue;
    WriteMark mark = WriteMark::On(path);
    return Temporary(std::move(path), std::move(mark));
  }
  return IoError(
      fmt::format("{} and {} names like it are taken: remove what nobody writes any more",
                  NameBeside(target, 0), kMaxNames - 1));
}

Result<Temporary> Temporary::Folder(const std::string& target, mode_t mode) {
  return Take(target, [mode](const char* path) { return ::mkdir(path, mode); });
}

Result<Temporary> Temporary::PlainFile(const std::string& target) {
  return Take(target, [](const char* path) {
    const Result<File> file = File::Create(path);
    return file.ok() ? 0 : -1;
  });
}

Result<File> Temporary::Open() const {
  File file(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW), path_);
  if (!file.open()) return SystemError("open", path_);
  return file;
}

Status Temporary::MoveTo(const std::string& target) {
  FLOWSCOPE_RETURN_IF_ERROR(Rename(path_, target));
  path_.clear();
  return Status::Ok();
}

Status Temporary::Remove() {
  const std::string path = std::exchange(path_, {});
  return path.empty() || !Exists(path) ? Status::Ok() : RemoveAny(path);
}

void RemoveAbandoned(const std::string& target) {
  for (int number = 0; number < kUsualNames; ++number) {
    (void)RemoveIfAbandoned(NameBeside(target, number));
  }
}

bool IsTemporaryName(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kSuffix);
}

}  // namespace flowscope::store
