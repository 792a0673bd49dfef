#include "store/recover.h"

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

constexpr std::string_view kLogs[] = {"-wal", "-journal"};
// Where SQLite notes that a file may have a log.
constexpr size_t kVersionByte = 18;
constexpr char kLogVersion = 2;

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
  for (const std::string_view log : kLogs) logged |= Exists(folder + "/" + name + std::string(log));
  if (!logged) return member;
  const Result<Temporary> copy = MakePrivateFolder();
  if (!copy.ok()) return copy.status();
  FLOWSCOPE_RETURN_IF_ERROR(CopyFile(**container, name, copy->path()));
  for (const std::string_view log : kLogs) {
    const std::string file = name + std::string(log);
    if (!Exists(folder + "/" + file)) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CopyFile(**container, file, copy->path()));
  }
  FLOWSCOPE_RETURN_IF_ERROR(WorkLogIn(copy->path() + "/" + name, folder + "/" + name));
  const Result<std::unique_ptr<Container>> worked = OpenFolder(copy->path());
  if (!worked.ok()) return worked.status();
  return (*worked)->Open(name);  // mapped, so it outlives the copy's name
}

}  // namespace flowscope::store
