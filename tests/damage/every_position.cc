// Cuts and flips saved traces at every position: loading gives an error that names the file, or
// what was saved, and does nothing else.
//
//   every_position PARTS PART
//
// Of the positions that are PART modulo PARTS, each is cut at and has one of its bits flipped,
// another one from position to position. A failure names file, position and bit.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "damage/heap.h"
#include "damage/subject.h"
#include "fuzz/folder.h"

namespace flowscope::damage {
namespace {

constexpr unsigned kMostSeconds = 60;  // for one load, which takes about a millisecond
constexpr uint64_t kCut = 8;           // in place of a bit

// What is being tried, for a signal to tell.
char current_file[256];
uint64_t current_position = 0;
uint64_t current_bit = 0;

void TellAndEnd(int signal) {
  char text[400];
  const int size = std::snprintf(
      text, sizeof(text), "signal %d at %s, position %llu, %s %llu\n", signal, current_file,
      static_cast<unsigned long long>(current_position), current_bit == kCut ? "cut" : "bit",
      static_cast<unsigned long long>(current_bit));
  if (::write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) ::_exit(2);
  ::_exit(1);
}

void TellWhereItFails() {
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
    std::signal(number, TellAndEnd);
  }
}

struct Counts {
  uint64_t tried = 0;
  uint64_t outcomes[3] = {};
  uint64_t values_refused = 0;
  uint64_t most_memory_percent = 0;  // of the files' size
};

// One file of a subject, changed in place and put right again.
class Damaged {
 public:
  explicit Damaged(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    std::ifstream file(path, std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~Damaged() { ::close(fd_); }
  Damaged(const Damaged&) = delete;
  Damaged& operator=(const Damaged&) = delete;

  size_t size() const { return good_.size(); }
  void Flip(size_t at, uint64_t bit) const {
    const auto byte = static_cast<unsigned char>(good_[at]);
    const auto bad = static_cast<unsigned char>(byte ^ (1U << bit));
    Write(at, {reinterpret_cast<const char*>(&bad), 1});
  }
  void Cut(size_t at) const {
    if (::ftruncate(fd_, static_cast<off_t>(at)) != 0) std::abort();
  }
  // From `at` on everything is as it was.
  void Restore(size_t at, size_t nbytes) const {
    Write(at, std::string_view(good_).substr(at, nbytes));
  }

 private:
  void Write(size_t at, std::string_view bytes) const {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written != static_cast<ssize_t>(bytes.size())) std::abort();
  }

  int fd_;
  std::string good_;
};

void Try(Judge& judge, Counts& counts) {
  ::alarm(kMostSeconds);
  const auto outcome = static_cast<size_t>(judge.Try());
  ::alarm(0);
  ++counts.tried;
  ++counts.outcomes[outcome];
}

void TryFile(const std::string& path, uint64_t parts, uint64_t part, Judge& judge, Counts& counts) {
  std::snprintf(current_file, sizeof(current_file), "%s", path.c_str());
  const Damaged file(path);
  for (size_t at = part; at < file.size(); at += parts) {
    current_position = at;
    current_bit = (at ^ (at >> 3)) % 8;
    file.Flip(at, current_bit);
    Try(judge, counts);
    file.Restore(at, 1);
    current_bit = kCut;
    file.Cut(at);
    Try(judge, counts);
    file.Restore(at, file.size() - at);
  }
}

Counts TrySubject(const Subject& subject, const std::string& private_folder, uint64_t parts,
                  uint64_t part) {
  Counts counts;
  Judge judge(subject, private_folder);
  for (const std::string& file : subject.files) {
    TryFile(file, parts, part, judge, counts);
  }
  if (judge.Try() != Outcome::kWhole) std::abort();  // everything was put right again
  counts.values_refused = judge.values_refused();
  counts.most_memory_percent = 100 * judge.most_memory() / subject.num_bytes;
  return counts;
}

int Run(uint64_t parts, uint64_t part) {
  const fuzz::Folder folder;
  const std::string private_folder = folder.path() + "/private";
  std::filesystem::create_directory(private_folder);
  ::setenv("TMPDIR", private_folder.c_str(), 1);
  TellWhereItFails();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  uint64_t refused = 0;
  for (const Subject& subject : MakeSubjects(folder.path())) {
    const Counts counts = TrySubject(subject, private_folder, parts, part);
    std::printf(
        "%s bytes=%llu tried=%llu refused=%llu whole=%llu prefix=%llu "
        "values_refused=%llu memory_percent=%llu\n",
        subject.name.c_str(), static_cast<unsigned long long>(subject.num_bytes),
        static_cast<unsigned long long>(counts.tried),
        static_cast<unsigned long long>(counts.outcomes[0]),
        static_cast<unsigned long long>(counts.outcomes[1]),
        static_cast<unsigned long long>(counts.outcomes[2]),
        static_cast<unsigned long long>(counts.values_refused),
        static_cast<unsigned long long>(counts.most_memory_percent));
    refused += counts.outcomes[0];
  }
  return refused > 0 ? 0 : 1;  // a run in which nothing was noticed has tried nothing
}

}  // namespace
}  // namespace flowscope::damage

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: every_position PARTS PART\n");
    return 2;
  }
  const uint64_t parts = std::strtoull(words[1], nullptr, 10);
  const uint64_t part = std::strtoull(words[2], nullptr, 10);
  if (parts == 0 || part >= parts) return 2;
  return flowscope::damage::Run(parts, part);
}
