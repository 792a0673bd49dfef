#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "store/fields.h"
#include "store/structure.h"
#include "store/trace_format.h"
#include "trace/lint.h"

namespace flowscope::store {
namespace {

// "[1,3]"; nullopt for anything else.
std::optional<Dims> ParseDims(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Dims dims;
  while (!text.empty()) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc()) return std::nullopt;
    dims.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return dims;
}

class StructureReader {
 public:
  explicit StructureReader(Database& database) : database_(database) {}

  Result<StructureFile> Read() {
    Result<std::vector<TableShape>> schema = ReadSchema(database_);
    if (!schema.ok()) return schema.status();
    file_.schema = std::move(schema).value();
    FLOWSCOPE_RETURN_IF_ERROR(ReadChecksums());
    FLOWSCOPE_RETURN_IF_ERROR(ReadInfo());
    FLOWSCOPE_RETURN_IF_ERROR(ReadPools());
    Status status;
    VisitTables(file_.tables, [&](const char* name, auto& rows) {
      if (status.ok()) status = ReadRows(name, rows);
    });
    FLOWSCOPE_RETURN_IF_ERROR(status);
    FLOWSCOPE_RETURN_IF_ERROR(ReadList("string_lists", "string", file_.tables.string_lists));
    FLOWSCOPE_RETURN_IF_ERROR(ReadList("variable_lists", "variable", file_.tables.variable_lists));
    return std::move(file_);
  }

 private:
  // Calls `row(table)` for each row. A table that an unfinished recording has not made is empty,
  // and so is one that the writer of an older file did not know.
  template <typename Row>
  Status ForRows(std::string_view name, Row row) {
    const TableShape* shape = file_.Find(name);
    if (shape == nullptr) {
      if (!file_.checksums.Tell(name)) return Status::Ok();
      return Corruption(fmt::format("{} has no table {}", database_.path(), name));
    }
    Result<TableReader> table = file_.OpenTable(database_, *shape);
    if (!table.ok()) return table.status();
    int64_t expected = 0;
    while (true) {
      const Result<bool> more = table->Next();
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (table->id() != expected++) return table->Wrong("id", "leaves a row out");
      FLOWSCOPE_RETURN_IF_ERROR(row(*table));
    }
    return file_.Verify(*table);
  }

  static Cell At(const TableReader& table, std::string_view column) {
    const int at = table.Find(column);
    return at < 0 ? Cell() : table.cells()[static_cast<size_t>(at)];
  }

  Status ReadChecksums() {
    const bool complete = file_.Find(kChecksumsTable) != nullptr;
    Checksums checksums;
    checksums.by_row = !complete;
    FLOWSCOPE_RETURN_IF_ERROR(
        ForRows(complete ? kChecksumsTable : kProgressTable, [&](const TableReader& table) {
          Checksum& checksum = checksums.tables[std::string(At(table, "table_name").text)];
          checksum.num_rows = At(table, "num_rows").integer;
          checksum.hash = At(table, "hash").text;
          checksum.columns = At(table, "columns").text;
          return Status::Ok();
        }));
    file_.checksums = std::move(checksums);
    file_.complete = complete;
    return Status::Ok();
  }

  Status ReadInfo() {
    std::map<std::string, Cell, std::less<>> values;
    std::map<std::string, std::string> texts;
    FLOWSCOPE_RETURN_IF_ERROR(ForRows("info", [&](const TableReader& table) {
      const std::string key(At(table, "key").text);
      values[key] = At(table, "value");
      texts[key] = values[key].text;
      return Status::Ok();
    }));
    const int64_t format = values["format"].integer;
    if (format > kFormatNumber || format < kOldestFormatNumber) {
      return WrongFormat(format);
    }
    VisitInfo(file_.tables.info, [&](const char* key, auto& value) {
      if (!values.contains(key)) return;
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::string>) {
        value = texts[key];
      } else {
        value = static_cast<Value>(values[key].integer);
      }
    });
    return ForRows("notes", [this](const TableReader& table) {
      file_.tables.info.notes.emplace_back(At(table, "text").text);
      return Status::Ok();
    });
  }

  Status WrongFormat(int64_t format) const {
    if (format > kFormatNumber) {
      return Unsupported(
          fmt::format("{} has format {}, this version of FlowScope reads up to {}: upgrade with "
                      "pip install -U flowscope",
                      database_.path(), format, kFormatNumber));
    }
    return Corruption(database_.path() + " does not say which format it has: it is no trace");
  }

  Status ReadPool(std::string_view name, std::string_view column, StringPool& pool) {
    return ForRows(name, [&](const TableReader& table) {
      if (pool.Intern(At(table, column).text) == static_cast<uint32_t>(table.id())) {
        return Status::Ok();
      }
      return table.Wrong(column, "repeats an earlier row");
    });
  }

  Status ReadPools() {
    FLOWSCOPE_RETURN_IF_ERROR(ReadPool("strings", "text", file_.tables.strings));
    FLOWSCOPE_RETURN_IF_ERROR(ReadPool("attrs", "bytes", file_.tables.attrs));
    return ForRows("shapes", [this](const TableReader& table) {
      const std::optional<Dims> dims = ParseDims(At(table, "dims").text);
      if (!dims) return table.Wrong("dims", "is no list of whole numbers");
      const std::string_view bytes(reinterpret_cast<const char*>(dims->data()),
                                   dims->size() * sizeof(int64_t));
      if (file_.tables.dims_pool.Intern(bytes) != static_cast<uint32_t>(table.id())) {
        return table.Wrong("dims", "repeats an earlier row");
      }
      return Status::Ok();
    });
  }

  template <typename Record>
  Status ReadRows(const char* name, std::vector<Record>& rows) {
    std::vector<std::string> columns;
    for (const ColumnShape& column : ShapeOfTable<Record>(name).columns) {
      columns.push_back(column.name);
    }
    columns.erase(columns.begin());
    std::optional<FieldReader> reader;
    return ForRows(name, [&](const TableReader& table) {
      if (!reader) reader.emplace(table).Prepare(columns);
      reader->StartRow();
      Record record;
      VisitFields(record, *reader);
      rows.push_back(record);
      return reader->status();
    });
  }

  Status ReadList(std::string_view name, std::string_view column, std::vector<uint32_t>& ids) {
    return ForRows(name, [&](const TableReader& table) {
      const Cell cell = At(table, column);
      if (cell.type != Cell::Type::kInteger || cell.integer < 0 || cell.integer >= kNoId) {
        return table.Wrong(column, "is out of range");
      }
      ids.push_back(static_cast<uint32_t>(cell.integer));
      return Status::Ok();
    });
  }

  Database& database_;
  StructureFile file_;
};

}  // namespace

const TableShape* StructureFile::Find(std::string_view table) const {
  const auto it = std::find_if(schema.begin(), schema.end(),
                               [table](const TableShape& shape) { return shape.name == table; });
  return it == schema.end() ? nullptr : &*it;
}

Result<StructureFile> ReadStructure(Database& database) {
  Result<StructureFile> file = StructureReader(database).Read();
  if (!file.ok()) return file;
  if (!file->complete) MendInterrupted(file->tables);
  const std::vector<std::string> broken = LintTables(file->tables);
  if (!broken.empty()) {
    return Corruption(fmt::format("{} contradicts itself: {}", database.path(), broken.front()));
  }
  FLOWSCOPE_RETURN_IF_ERROR(CheckBounds(file->tables, database.path()));
  return file;
}

}  // namespace flowscope::store
