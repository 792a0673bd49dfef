#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/fields.h"
#include "store/structure.h"
#include "store/trace_format.h"

namespace flowscope::store {
namespace {

using Cells = std::vector<Cell>;

TableShape OneColumn(std::string name, std::string column, std::string type) {
  return {std::move(name), {{"id", "INTEGER"}, {std::move(column), std::move(type)}}};
}

class StructureWriter {
 public:
  StructureWriter(TablesWriter& writer, const TraceTables& tables, const StructureExtras& extras)
      : writer_(writer), tables_(tables), extras_(extras) {}

  Status Write() {
    FLOWSCOPE_RETURN_IF_ERROR(WriteStrings());
    FLOWSCOPE_RETURN_IF_ERROR(WriteShapes());
    Status status;
    VisitTables(tables_, [&](const char* name, const auto& rows) {
      if (status.ok()) status = WriteRows(name, rows);
    });
    FLOWSCOPE_RETURN_IF_ERROR(status);
    FLOWSCOPE_RETURN_IF_ERROR(WriteList("string_lists", "string", tables_.string_lists));
    FLOWSCOPE_RETURN_IF_ERROR(WriteList("variable_lists", "variable", tables_.variable_lists));
    FLOWSCOPE_RETURN_IF_ERROR(WriteNotes());
    return WriteInfo();
  }

 private:
  // Configurations that were asked for only now follow the strings of the recording.
  Status WriteStrings() {
    Result<TableWriter*> strings = writer_.Begin(OneColumn("strings", "text", "TEXT"));
    if (!strings.ok()) return strings.status();
    const auto count = static_cast<uint32_t>(tables_.strings.size());
    for (uint32_t id = 0; id < count; ++id) {
      FLOWSCOPE_RETURN_IF_ERROR((*strings)->Add(id, {TextCell(tables_.strings.View(id))}));
    }
    StringPool added;
    configs_.assign(extras_.module_configs.size(), 0);
    for (size_t i = 0; i < configs_.size(); ++i) {
      const std::string& text = extras_.module_configs[i];
      if (const auto known = tables_.strings.Find(text)) {
        configs_[i] = *known;
        continue;
      }
      const size_t before = added.size();
      const uint32_t id = added.Intern(text);
      configs_[i] = count + id - 1;
      if (added.size() == before) continue;
      FLOWSCOPE_RETURN_IF_ERROR((*strings)->Add(configs_[i], {TextCell(text)}));
    }
    Result<TableWriter*> attrs = writer_.Begin(OneColumn("attrs", "bytes", "BLOB"));
    if (!attrs.ok()) return attrs.status();
    for (uint32_t id = 0; id < tables_.attrs.size(); ++id) {
      FLOWSCOPE_RETURN_IF_ERROR((*attrs)->Add(id, {BytesCell(tables_.attrs.View(id))}));
    }
    return Status::Ok();
  }

  Status WriteShapes() {
    Result<TableWriter*> shapes = writer_.Begin(OneColumn("shapes", "dims", "TEXT"));
    if (!shapes.ok()) return shapes.status();
    for (uint32_t id = 0; id < tables_.dims_pool.size(); ++id) {
      const std::string text = DimsText(tables_.dims_pool.View(id));
      FLOWSCOPE_RETURN_IF_ERROR((*shapes)->Add(id, {TextCell(text)}));
    }
    return Status::Ok();
  }

  template <typename Record>
  Record Adjusted(size_t /*id*/, const Record& record) {
    return record;
  }
  ModuleRecord Adjusted(size_t id, ModuleRecord record) {
    if (id < configs_.size() && configs_[id] != 0) record.config = configs_[id];
    return record;
  }
  TensorRecord Adjusted(size_t id, TensorRecord record) {
    if (id < extras_.states.size()) record.state = extras_.states[id];
    return record;
  }

  template <typename Record>
  Status WriteRows(const char* name, const std::vector<Record>& rows) {
    Result<TableWriter*> table = writer_.Begin(ShapeOfTable<Record>(name));
    if (!table.ok()) return table.status();
    Cells cells;
    for (size_t id = 0; id < rows.size(); ++id) {
      cells.clear();
      const Record record = Adjusted(id, rows[id]);
      VisitFields(record, FieldWriter(cells));
      FLOWSCOPE_RETURN_IF_ERROR((*table)->Add(static_cast<int64_t>(id), cells));
    }
    return Status::Ok();
  }

  Status WriteList(const char* name, const char* column, const std::vector<uint32_t>& ids) {
    Result<TableWriter*> table = writer_.Begin(OneColumn(name, column, "INTEGER"));
    if (!table.ok()) return table.status();
    for (size_t i = 0; i < ids.size(); ++i) {
      FLOWSCOPE_RETURN_IF_ERROR((*table)->Add(static_cast<int64_t>(i), {IntegerCell(ids[i])}));
    }
    return Status::Ok();
  }

  Status WriteNotes() {
    Result<TableWriter*> table = writer_.Begin(OneColumn("notes", "text", "TEXT"));
    if (!table.ok()) return table.status();
    int64_t id = 0;
    for (const auto* notes : {&tables_.info.notes, &extras_.notes}) {
      for (const std::string& note : *notes) {
        FLOWSCOPE_RETURN_IF_ERROR((*table)->Add(id++, {TextCell(note)}));
      }
    }
    return Status::Ok();
  }

  Status WriteInfo() {
    Result<TableWriter*> table = writer_.Begin(InfoShape());
    if (!table.ok()) return table.status();
    int64_t id = 0;
    Status status = (*table)->Add(id++, {TextCell("format"), IntegerCell(kFormatNumber)});
    VisitInfo(tables_.info, [&](const char* key, const auto& value) {
      if (!status.ok()) return;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
        status = (*table)->Add(id++, {TextCell(key), TextCell(value)});
      } else {
        const auto number = static_cast<int64_t>(value);
        status = (*table)->Add(id++, {TextCell(key), IntegerCell(number)});
      }
    });
    return status;
  }

  TablesWriter& writer_;
  const TraceTables& tables_;
  const StructureExtras& extras_;
  std::vector<StringId> configs_;
};

}  // namespace

std::string DimsText(std::string_view dims_bytes) {
  Dims dims(dims_bytes.size() / sizeof(int64_t));
  if (!dims.empty()) std::memcpy(dims.data(), dims_bytes.data(), dims.size() * sizeof(int64_t));
  return fmt::format("[{}]", fmt::join(dims, ","));
}

TableShape InfoShape() { return {"info", {{"id", "INTEGER"}, {"key", "TEXT"}, {"value", ""}}}; }

Status WriteStructure(TablesWriter& tables, const TraceTables& rows,
                      const StructureExtras& extras) {
  return StructureWriter(tables, rows, extras).Write();
}

TableShape ChecksumsShape(std::string_view name) {
  return {std::string(name),
          {{"id", "INTEGER"},
           {"table_name", "TEXT"},
           {"num_rows", "INTEGER"},
           {"hash", "TEXT"},
           {"columns", "TEXT"}}};
}

Result<TableWriter*> TablesWriter::Begin(const TableShape& shape) {
  Result<TableWriter> table = TableWriter::Create(database_, shape, before_);
  if (!table.ok()) return table.status();
  written_.push_back(std::move(table).value());
  return &written_.back();
}

Status TablesWriter::WriteChecksums() {
  Result<TableWriter> table = TableWriter::Create(database_, ChecksumsShape(kChecksumsTable));
  if (!table.ok()) return table.status();
  int64_t id = 0;
  for (TableWriter& other : written_) {
    FLOWSCOPE_RETURN_IF_ERROR(other.End(database_));
    const std::string hex = other.Hex();
    FLOWSCOPE_RETURN_IF_ERROR(
        table->Add(id++, {TextCell(other.name()), IntegerCell(other.num_rows()), TextCell(hex),
                          TextCell(other.columns())}));
  }
  return Status::Ok();
}

}  // namespace flowscope::store
