#include "tables.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "analyze/arrow.h"
#include "analyze/arrow_abi.h"
#include "analyze/tables.h"
#include "bindings.h"
#include "errors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr const char* kStreamCapsule = "arrow_array_stream";
constexpr const char* kSchemaCapsule = "arrow_schema";

// A copy of plain memory as a NumPy array of its own.
nb::object NumpyCopy(const void* data, size_t nbytes, const char* dtype) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("frombuffer")(nb::bytes(data, nbytes), nb::arg("dtype") = dtype).attr("copy")();
}

template <typename T>
nb::list Items(const Column& column, const std::vector<T>& rows) {
  nb::list items;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!column.is_valid(i)) {
      items.append(nb::none());
    } else if constexpr (std::is_same_v<T, uint8_t>) {
      items.append(nb::bool_(rows[i] != 0));
    } else {
      items.append(nb::cast(rows[i]));
    }
  }
  return items;
}

nb::list ColumnToList(const Column& column) {
  return std::visit([&](const auto& rows) { return Items(column, rows); }, column.values);
}

// True where a row has no value; pandas' masked arrays take it so.
nb::object Mask(const Column& column) {
  std::vector<uint8_t> mask(column.size());
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = column.is_valid(i) ? 0 : 1;
  return NumpyCopy(mask.data(), mask.size(), "bool");
}

nb::object DoublesToNumpy(const Column& column, Column::Doubles rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!column.is_valid(i)) rows[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return NumpyCopy(rows.data(), rows.size() * sizeof(double), "float64");
}

// Numbers as NumPy arrays; integers and flags with missing rows as pandas' masked ones.
nb::object PandasColumn(const nb::module_& pandas, const Column& column) {
  if (const auto* rows = std::get_if<Column::Doubles>(&column.values)) {
    return DoublesToNumpy(column, *rows);
  }
  if (const auto* rows = std::get_if<Column::Ints>(&column.values)) {
    nb::object values = NumpyCopy(rows->data(), rows->size() * sizeof(int64_t), "int64");
    if (column.valid.empty()) return values;
    return pandas.attr("arrays").attr("IntegerArray")(values, Mask(column));
  }
  if (const auto* rows = std::get_if<Column::Bools>(&column.values)) {
    nb::object values = NumpyCopy(rows->data(), rows->size(), "bool");
    if (column.valid.empty()) return values;
    return pandas.attr("arrays").attr("BooleanArray")(values, Mask(column));
  }
  return ColumnToList(column);
}

nb::module_ ImportPandas() {
  try {
    return nb::module_::import_("pandas");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    Check(Unavailable("to_pandas() needs pandas, which is not installed: pip install pandas"));
    throw;
  }
}

nb::capsule StreamCapsule(const TableObject& self, const nb::object& /*requested_schema*/) {
  return {NewArrowStream(self.table), kStreamCapsule,
          [](void* stream) noexcept { DeleteArrowStream(static_cast<ArrowArrayStream*>(stream)); }};
}

void DeleteSchema(void* pointer) noexcept {
  auto* schema = static_cast<ArrowSchema*>(pointer);
  if (schema->release != nullptr) schema->release(schema);
  delete schema;
}

nb::capsule SchemaCapsule(const TableObject& self) {
  auto schema = std::make_unique<ArrowSchema>();
  ArrowArrayStream* stream = NewArrowStream(self.table);
  const int error = stream->get_schema(stream, schema.get());
  DeleteArrowStream(stream);
  if (error != 0) Check(Internal(fmt::format("no Arrow schema: error {}", error)));
  return {schema.release(), kSchemaCapsule, &DeleteSchema};
}

std::vector<std::string> ColumnNames(const TableObject& self) {
  std::vector<std::string> names;
  for (const Column& column : self.table->columns) names.push_back(column.name);
  return names;
}

nb::dict ToPythonDict(const TableObject& self) {
  nb::dict columns;
  for (const Column& column : self.table->columns) {
    columns[nb::cast(column.name)] = ColumnToList(column);
  }
  return columns;
}

nb::list NamedColumn(const TableObject& self, const std::string& name) {
  const Column* column = self.table->Find(name);
  if (column == nullptr) {
    Check(NotFound(
        fmt::format("no column \"{}\"; there are {}", name, fmt::join(ColumnNames(self), ", "))));
  }
  return ColumnToList(*column);
}

std::string TableText(const TableObject& self) {
  return fmt::format("Table of {} rows: {}", self.table->num_rows(),
                     fmt::join(ColumnNames(self), ", "));
}

}  // namespace

nb::object ToPandas(const Table& table) {
  const nb::module_ pandas = ImportPandas();
  nb::dict columns;
  for (const Column& column : table.columns) {
    columns[nb::cast(column.name)] = PandasColumn(pandas, column);
  }
  return pandas.attr("DataFrame")(columns);
}

Table NamedTable(const Trace& trace, std::string_view kind) {
  Result<Table> table = Table();
  {
    const nb::gil_scoped_release released;
    table = TableOfKind(trace, kind);
  }
  return Unwrap(std::move(table));
}

TableObject MakeTable(Table table) { return {std::make_shared<const Table>(std::move(table))}; }

void RegisterTables(nb::module_& m) {
  nb::class_<TableObject>(
      m, "Table",
      "A table that pyarrow, polars and duckdb read without a copy in between.\n\n"
      "    >>> pyarrow.table(trace.to_arrow())\n"
      "    >>> trace.stats().to_pandas().sort_values(\"max\")")
      .def("__len__", [](const TableObject& self) { return self.table->num_rows(); })
      .def("__repr__", &TableText)
      .def("__getitem__", &NamedColumn, nb::arg("name"),
           nb::sig("def __getitem__(self, name: str, /) -> list[typing.Any]"))
      .def_prop_ro("columns", &ColumnNames)
      .def("to_dict", &ToPythonDict, nb::sig("def to_dict(self) -> dict[str, list[typing.Any]]"),
           "Columns as lists, None where a row has no value.")
      .def(
          "to_pandas", [](const TableObject& self) { return ToPandas(*self.table); },
          nb::sig("def to_pandas(self) -> typing.Any"), "A pandas.DataFrame.")
      .def(
          "__arrow_c_stream__", &StreamCapsule, nb::arg("requested_schema") = nb::none(),
          nb::sig("def __arrow_c_stream__(self, requested_schema: object | None = None) -> object"))
      .def("__arrow_c_schema__", &SchemaCapsule, nb::sig("def __arrow_c_schema__(self) -> object"));
}

}  // namespace flowscope::python
