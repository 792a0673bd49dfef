// What python/flowscope/_restored.py found of a restored SavedModel, and what the engine makes of
// it.
#include "library/restored_names.h"

#include <map>
#include <optional>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "body_origins.h"
#include "eager_tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace flowscope::python {
namespace {

using library::RestoredNames;
// kind, children, identifier, name, dimensions, trainable
using ObjectRow = std::tuple<std::string, std::vector<std::pair<std::string, uint32_t>>,
                             std::string, std::string, std::optional<Dims>, bool>;
// name, numbers of the objects that are its last arguments (-1: no object)
using FunctionRow = std::pair<std::string, std::vector<int64_t>>;
// address, name, class, number of the module above or -1, number of the object or -1, parameters,
// trainable ones
using ModuleRow =
    std::tuple<std::string, std::string, std::string, int64_t, int64_t, int64_t, int64_t>;
// addresses, name, number of the module or -1
using VariableRow = std::tuple<std::vector<std::string>, std::string, int64_t>;

savedmodel::ObjectKind KindOf(const std::string& text) {
  if (text == "user") return savedmodel::ObjectKind::kUser;
  if (text == "function") return savedmodel::ObjectKind::kFunction;
  if (text == "variable") return savedmodel::ObjectKind::kVariable;
  return savedmodel::ObjectKind::kOther;
}

int64_t NumberOf(uint32_t id) { return id == savedmodel::kNoScope ? -1 : int64_t{id}; }

class PyRestoredNames {
 public:
  PyRestoredNames(nb::handle context, const std::vector<ObjectRow>& rows,
                  const std::vector<FunctionRow>& function_rows) {
    std::vector<library::RestoredObject> objects;
    for (const auto& [kind, children, identifier, name, dims, trainable] : rows) {
      objects.push_back({KindOf(kind), children, identifier, name, dims, trainable});
    }
    std::vector<library::RestoredFunction> functions;
    for (const auto& [name, captured] : function_rows) {
      functions.push_back({name, {}});
      for (const int64_t object : captured) {
        functions.back().captured.push_back(object < 0 ? savedmodel::kNoScope
                                                       : static_cast<uint32_t>(object));
      }
    }
    TFE_Context* raw = ContextOf(context);
    const nb::gil_scoped_release nogil;
    names_ = std::make_unique<RestoredNames>(raw, std::move(objects), functions);
  }

  std::vector<ModuleRow> Modules() const {
    std::vector<ModuleRow> rows;
    for (const savedmodel::ModelModule& module : names_->modules()) {
      rows.emplace_back(module.address, module.name, module.class_name, NumberOf(module.parent),
                        NumberOf(module.object), module.num_params, module.num_trainable);
    }
    return rows;
  }

  VariableRow Variable(uint32_t object) const {
    const savedmodel::ModelVariable variable = names_->VariableOf(object);
    return {variable.addresses, variable.name, NumberOf(variable.module)};
  }

  bool ByScopes() const { return names_->by_scopes(); }
  bool Has(const std::string& function) const { return names_->Has(function); }

  std::optional<FoundOrigins> Origins(nb::handle context, const std::string& function,
                                      const std::vector<int64_t>& modules) const {
    std::vector<ModuleId> numbers;
    for (const int64_t module : modules) {
      numbers.push_back(module < 0 ? kNoId : static_cast<ModuleId>(module));
    }
    TFE_Context* raw = ContextOf(context);
    const nb::gil_scoped_release nogil;
    std::shared_ptr<const capture::BodyOrigins> origins =
        names_->OriginsOf(raw, function, std::move(numbers));
    if (origins == nullptr) return {};
    return FoundOrigins{std::move(origins)};
  }

 private:
  std::unique_ptr<RestoredNames> names_;
};

}  // namespace

void RegisterRestoredNames(nb::module_& m) {
  m.attr("SCOPES_NOTE") = std::string(library::kScopesNote).c_str();
  [[maybe_unused]] const nb::class_<FoundOrigins> origins(m, "FoundOrigins");
  nb::class_<PyRestoredNames>(m, "RestoredNames")
      .def(nb::init<nb::handle, const std::vector<ObjectRow>&, const std::vector<FunctionRow>&>(),
           "context"_a, "objects"_a, "functions"_a)
      .def_prop_ro("modules", &PyRestoredNames::Modules)
      .def("variable", &PyRestoredNames::Variable, "object"_a)
      .def_prop_ro("by_scopes", &PyRestoredNames::ByScopes)
      .def("has", &PyRestoredNames::Has, "function"_a)
      .def("origins", &PyRestoredNames::Origins, "context"_a, "function"_a, "modules"_a);
}

}  // namespace flowscope::python
