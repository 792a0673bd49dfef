#include "store/recover.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "store/files.h"
#include "store/sqlite.h"
#include "store/temporary.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

constexpr std::string_view kFiles[] = {"", "-wal", "-journal"};
// Where SQLite notes that a file may have a log.
constexpr size_t kVersionByte = 18;
constexpr char kLogVersion = 2;

// A log that is worked in while it is copied is copied once more, at most so often.
constexpr int kMostCopies = 20;
// SQLite gives a log that begins again another head.
constexpr size_t kLogHeadBytes = 32;

// A folder of this user's alone, for a moment.
Result<Temporary> MakePrivateFolder() {
  constexpr mode_t kPrivate = 0700;
  const char* base = std::getenv("TMPDIR");
  const std::string folder = base != nullptr && *base != '\0' ? base : "/tmp";
  const std::string target = fmt::format("{}/flowscope-{}", folder, ::geteuid());
  RemoveAbandoned(target);
  return Temporary::Folder(target, kPrivate);
}

Status CopyFile(const Container& from, const std::string& name, const std::string& folder) {
  const Result<Member> member = from.Open(name);
  if (!member.ok()) return member.status();
  Result<File> file = File::Create(folder + "/" + name);
  if (!file.ok()) return file.status();
  FLOWSCOPE_RETURN_IF_ERROR(file->WriteAt(0, member->bytes.data(), member->bytes.size()));
  return file->Close();
}

// Which files the folder's database consists of just now: what a writer that goes on has replaced
// or begun again is another one.
std::string FilesNow(const std::string& folder) {
  std::string told;
  for (const std::string_view end : kFiles) {
    const Result<File> file = File::OpenRead(fmt::format("{}/{}{}", folder, kDatabaseName, end));
    struct stat info{};
    char head[kLogHeadBytes] = {};
    if (file.ok() && ::fstat(file->fd(), &info) == 0 && !end.empty()) {
      // A log that is shorter has zeros there.
      [[maybe_unused]] const ssize_t read = ::pread(file->fd(), head, sizeof(head), 0);
    }
    told += fmt::format("{} {} ", info.st_dev, info.st_ino);
    told.append(head, sizeof(head));
  }
  return told;
}

Status CopyDatabase(const Container& from, const std::string& folder, const std::string& copy) {
  for (const std::string_view end : kFiles) {
    const std::string name = std::string(kDatabaseName).append(end);
    FLOWSCOPE_RETURN_IF_ERROR(RemoveFile(copy + "/" + name));
    if (!end.empty() && !Exists(folder + "/" + name)) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CopyFile(from, name, copy));
  }
  return Status::Ok();
}

// Again where a writer that goes on has worked its log in meanwhile: the copy then has neither what
// was in the log nor where it went.
Status CopyWhole(const Container& from, const std::string& folder, const std::string& copy) {
  Status status;
  std::string files;
  for (int i = 0; i < kMostCopies; ++i) {
    const std::string now = FilesNow(folder);
    if (now == files) break;
    files = now;
    status = CopyDatabase(from, folder, copy);
  }
  return status;
}

}  // namespace

Status WorkLogIn(const std::string& path, const std::string& shown) {
  Result<Database> database = Database::OpenOwn(path, shown);
  if (!database.ok()) return database.status();
  // A copy need not outlive a power failure.
  if (path != shown) FLOWSCOPE_RETURN_IF_ERROR(database->Execute("PRAGMA synchronous=OFF"));
  FLOWSCOPE_RETURN_IF_ERROR(
      database->Execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE;"));
  return database->Close();
}

Result<Member> ReadDatabase(const std::string& folder) {
  const Result<std::unique_ptr<Container>> container = OpenFolder(folder);
  if (!container.ok()) return container.status();
  const std::string name(kDatabaseName);
  Result<Member> member = (*container)->Open(name);
  if (!member.ok()) return member;
  bool logged = member->bytes.size() > kVersionByte && member->bytes[kVersionByte] == kLogVersion;
  for (const std::string_view end : kFiles) {
    if (!end.empty()) logged |= Exists(fmt::format("{}/{}{}", folder, name, end));
  }
  if (!logged) return member;
  const Result<Temporary> copy = MakePrivateFolder();
  if (!copy.ok()) return copy.status();
  FLOWSCOPE_RETURN_IF_ERROR(CopyWhole(**container, folder, copy->path()));
  FLOWSCOPE_RETURN_IF_ERROR(WorkLogIn(copy->path() + "/" + name, folder + "/" + name));
  const Result<std::unique_ptr<Container>> worked = OpenFolder(copy->path());
  if (!worked.ok()) return worked.status();
  return (*worked)->Open(name);  // mapped, so it outlives the copy's name
}

}  // namespace flowscope::store
