#include "store/reader.h"

#include <fmt/format.h>

#include "store/container.h"
#include "store/file_payloads.h"
#include "store/files.h"
#include "store/open.h"
#include "store/recover.h"
#include "store/structure.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

Result<std::unique_ptr<Container>> OpenContainer(const std::string& path) {
  if (!Exists(path)) {
    return NotFound(fmt::format("there is no {}: a trace is a folder NAME{} or a file NAME{}", path,
                                kFolderSuffix, kZipSuffix));
  }
  if (IsFolder(path)) return OpenFolder(path);
  if (path.substr(path.rfind('/') + 1) == kDatabaseName) {
    return InvalidArgument(path + " is a part of a trace: give the folder that holds it");
  }
  return OpenZip(path);
}

}  // namespace

Result<Opened> Open(const std::string& path) {
  Result<std::unique_ptr<Container>> container = OpenContainer(path);
  if (!container.ok()) return container.status();
  const Result<Member> member =
      IsFolder(path) ? ReadDatabase(path) : (*container)->Open(std::string(kDatabaseName));
  if (!member.ok()) return member.status();
  const std::string name = path + "/" + std::string(kDatabaseName);
  Result<Database> database = Database::FromBytes(member->bytes, name);
  if (!database.ok()) return database.status();
  Result<StructureFile> file = ReadStructure(*database);
  if (!file.ok()) return file.status();
  Result<std::shared_ptr<const FilePayloads>> payloads =
      FilePayloads::Open(**container, *database, *file);
  if (!payloads.ok()) return payloads.status();
  Opened opened{std::move(file).value(), std::move(payloads).value()};
  // What was kept is what can be read.
  if (!opened.file.complete) {
    const std::string& left_out = opened.payloads->LeftOut();
    if (!left_out.empty()) opened.file.tables.info.notes.push_back(left_out);
    std::vector<TensorRecord>& tensors = opened.file.tables.tensors;
    for (TensorId id = 0; id < tensors.size(); ++id) {
      if (opened.payloads->Has(id)) {
        tensors[id].state = PayloadState::kKept;
      } else if (tensors[id].state == PayloadState::kKept) {
        tensors[id].state = PayloadState::kNotKept;
      }
    }
  }
  return opened;
}

Result<std::shared_ptr<const Trace>> OpenTrace(const std::string& given) {
  Result<Opened> opened = Open(WithoutTrailingSlash(given));
  if (!opened.ok()) return opened.status();
  return std::make_shared<const Trace>(std::move(opened->file.tables), std::move(opened->payloads));
}

}  // namespace flowscope::store
