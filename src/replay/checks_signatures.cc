// Ops against their registered definitions: how many tensors each takes and gives, and of which
// dtypes. What is only declared (a look-up, a draw, a handle) is looked at here and nowhere else.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interp/attr_value.h"
#include "interp/body.h"
#include "interp/op_facts.h"
#include "replay/checks.h"
#include "tf/op_registry.h"
#include "trace/attrs.h"

namespace flowscope::replay {
namespace {

// A longer list is no op's: a number that a file made up must not cost memory.
constexpr uint64_t kMaxLength = 1 << 16;

// Dtypes of the tensors of `args`, kInvalid where the definition leaves one open; nullopt where the
// record does not tell enough of the attributes.
std::optional<std::vector<DType>> Expand(const std::vector<tf::OpArg>& args,
                                         const interp::AttrList& attrs) {
  std::vector<DType> dtypes;
  for (const tf::OpArg& arg : args) {
    const std::optional<uint64_t> length = interp::ArgLength(arg, attrs);
    if (!length || *length > kMaxLength) return std::nullopt;
    DType dtype = arg.type;
    if (!arg.type_attr.empty()) {
      const std::string_view* attr = interp::FindAttr(attrs, arg.type_attr);
      if (attr == nullptr) return std::nullopt;
      const Result<interp::AttrValue> value = interp::ParseAttrValue(*attr);
      if (!value.ok() || value->kind != interp::AttrKind::kType) return std::nullopt;
      dtype = static_cast<DType>(value->number);
    }
    dtypes.insert(dtypes.end(), *length, dtype);
  }
  return dtypes;
}

std::string Mismatch(std::string_view what, const std::vector<DType>& expected,
                     const std::vector<DType>& recorded) {
  if (expected.size() != recorded.size()) {
    return fmt::format("has {} {}s, its definition says {}", recorded.size(), what,
                       expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool open = expected[i] == DType::kInvalid || recorded[i] == DType::kInvalid;
    if (open || expected[i] == recorded[i]) continue;
    return fmt::format("has {} {} of dtype {}, its definition says {}", what, i,
                       DTypeName(recorded[i]), DTypeName(expected[i]));
  }
  return "";
}

// A hook is told every attribute, defaults included. Another version can have more of them.
std::string MissingAttr(const tf::OpDef& def, const interp::AttrList& attrs, bool same_version) {
  for (const tf::OpAttr& attr : def.attrs) {
    if (interp::FindAttr(attrs, attr.name) != nullptr) continue;
    if (same_version || attr.default_value.empty()) return attr.name;
  }
  return "";
}

std::string Problem(const Trace& trace, OpId id, const tf::OpDef& def,
                    const interp::AttrList& attrs) {
  std::vector<DType> recorded;
  for (const EdgeRecord& edge : trace.inputs(id)) {
    recorded.push_back(edge.tensor == kNoId ? DType::kInvalid : trace.tensor(edge.tensor).dtype);
  }
  if (const auto inputs = Expand(def.inputs, attrs)) {
    if (std::string problem = Mismatch("input", *inputs, recorded); !problem.empty()) {
      return problem;
    }
  }
  const OpRecord& op = trace.op(id);
  // An op that was running when the recording was cut off has nothing yet.
  const bool cut_off = trace.info().interrupted && op.outputs.count == 0;
  if (op.error != 0 || cut_off) return "";
  recorded.clear();
  for (uint32_t i = 0; i < op.outputs.count; ++i) {
    recorded.push_back(trace.tensor(op.outputs.first + i).dtype);
  }
  const auto outputs = Expand(def.outputs, attrs);
  return outputs ? Mismatch("output", *outputs, recorded) : "";
}

}  // namespace

CheckResult CheckSignatures(const Trace& trace, bool same_version) {
  CheckResult result;
  const bool told_all = trace.info().recorder != "callbacks";
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.run_counter == 0 || (op.attrs == 0 && !told_all)) continue;
    const tf::OpDef* def = tf::FindOpDef(trace.str(op.type));
    const auto attrs = SplitAttrs(trace.tables().attrs.View(op.attrs));
    if (def == nullptr || !attrs.ok()) continue;
    ++result.num_checks;
    const interp::AttrList list(attrs->begin(), attrs->end());
    // Calls are judged by their functions.
    const bool calls = interp::KindOf(def->name) == interp::NodeKind::kCall;
    std::string problem = Problem(trace, id, *def, list);
    if (const std::string missing = MissingAttr(*def, list, same_version);
        told_all && !calls && problem.empty() && !missing.empty()) {
      problem = fmt::format("has no attribute {}, which its definition has", missing);
    }
    if (problem.empty()) continue;
    result.failures.push_back({"signature", id, trace.OpLabel(id),
                               fmt::format("{} ({}) {}", trace.OpLabel(id), def->name, problem)});
  }
  return result;
}

}  // namespace flowscope::replay
