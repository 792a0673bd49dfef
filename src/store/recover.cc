#include "store/recover.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "store/files.h"
#include "store/sqlite.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

constexpr std::string_view kLogs[] = {"-wal", "-journal"};
// Where SQLite notes that a file may have a log.
constexpr size_t kVersionByte = 18;
constexpr char kLogVersion = 2;

// A folder for a moment.
class PrivateFolder {
 public:
  static Result<PrivateFolder> Make() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern =
        std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/flowscope-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return SystemError("make folder", pattern);
    return PrivateFolder(std::move(pattern));
  }
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder() {
    if (!path_.empty()) (void)RemoveFlat(path_);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status CopyFile(const Container& from, const std::string& name, const std::string& folder) {
  const Result<Member> member = from.Open(name);
  if (!member.ok()) return member.status();
  Result<File> file = File::Create(folder + "/" + name);
  if (!file.ok()) return file.status();
  FLOWSCOPE_RETURN_IF_ERROR(file->WriteAt(0, member->bytes.data(), member->bytes.size()));
  return file->Close();
}

}  // namespace

Status WorkLogIn(const std::string& path) {
  Result<Database> database = Database::OpenOwn(path);
  if (!database.ok()) return database.status();
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
  const Result<PrivateFolder> copy = PrivateFolder::Make();
  if (!copy.ok()) return copy.status();
  FLOWSCOPE_RETURN_IF_ERROR(CopyFile(**container, name, copy->path()));
  for (const std::string_view log : kLogs) {
    const std::string file = name + std::string(log);
    if (!Exists(folder + "/" + file)) continue;
    FLOWSCOPE_RETURN_IF_ERROR(CopyFile(**container, file, copy->path()));
  }
  FLOWSCOPE_RETURN_IF_ERROR(WorkLogIn(copy->path() + "/" + name));
  const Result<std::unique_ptr<Container>> worked = OpenFolder(copy->path());
  if (!worked.ok()) return worked.status();
  return (*worked)->Open(name);  // mapped, so it outlives the copy's name
}

}  // namespace flowscope::store
