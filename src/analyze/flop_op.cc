#include "analyze/flop_formulas.h"
#include "trace/attrs.h"

namespace flowscope {
namespace {

std::optional<AttrData> ReadAttr(const Trace& trace, OpId id, std::string_view name) {
  const auto attrs = SplitAttrs(trace.tables().attrs.View(trace.op(id).attrs));
  if (!attrs.ok()) return std::nullopt;
  const auto it = attrs->find(std::string(name));
  if (it == attrs->end()) return std::nullopt;
  const Result<AttrData> data = DecodeAttr(it->second);
  return data.ok() ? std::optional(*data) : std::nullopt;
}

std::optional<int64_t> Elements(const std::optional<Dims>& dims) {
  return dims ? CheckedProduct(*dims) : std::nullopt;
}

}  // namespace

std::optional<int64_t> CheckedProduct(std::span<const int64_t> factors) {
  int64_t product = 1;
  bool zero = false;
  for (const int64_t factor : factors) {
    if (factor < 0) return std::nullopt;
    if (factor == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(product, factor, &product)) {
      return std::nullopt;
    }
  }
  return zero ? 0 : product;
}

std::optional<Dims> FlopOp::DimsOf(TensorId tensor) const {
  if (tensor == kNoId || !trace_.tensor(tensor).shape_known) return std::nullopt;
  return trace_.dims(trace_.tensor(tensor).dims);
}

std::optional<Dims> FlopOp::InputDims(size_t index) const {
  const std::span<const EdgeRecord> inputs = trace_.inputs(id_);
  if (index >= inputs.size()) return std::nullopt;
  const EdgeRecord& edge = inputs[index];
  // A literal has rank zero, whether or not its value was kept.
  if (edge.tensor == kNoId && edge.edge_class == EdgeClass::kLiteral) return Dims{};
  return DimsOf(edge.tensor);
}

std::optional<Dims> FlopOp::OutputDims(size_t index) const {
  if (index >= trace_.op(id_).outputs.count) return std::nullopt;
  return DimsOf(trace_.output(id_, static_cast<uint32_t>(index)));
}

std::optional<int64_t> FlopOp::InputElements(size_t index) const {
  return Elements(InputDims(index));
}

std::optional<int64_t> FlopOp::OutputElements(size_t index) const {
  return Elements(OutputDims(index));
}

bool FlopOp::BoolAttr(std::string_view name, bool missing) const {
  const std::optional<AttrData> attr = ReadAttr(trace_, id_, name);
  const bool* value = attr ? std::get_if<bool>(&attr->scalar) : nullptr;
  return value == nullptr ? missing : *value;
}

std::optional<std::string> FlopOp::StringAttr(std::string_view name) const {
  const std::optional<AttrData> attr = ReadAttr(trace_, id_, name);
  const std::string* value = attr ? std::get_if<std::string>(&attr->scalar) : nullptr;
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<int64_t> FlopOp::IntAttr(std::string_view name) const {
  const std::optional<AttrData> attr = ReadAttr(trace_, id_, name);
  const int64_t* value = attr ? std::get_if<int64_t>(&attr->scalar) : nullptr;
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<int64_t> FlopOp::ListSizeAttr(std::string_view name) const {
  const std::optional<AttrData> attr = ReadAttr(trace_, id_, name);
  if (!attr || attr->kind != "list") return std::nullopt;
  return static_cast<int64_t>(attr->list.size());
}

std::optional<std::vector<int64_t>> FlopOp::IntsAttr(std::string_view name) const {
  const std::optional<AttrData> attr = ReadAttr(trace_, id_, name);
  if (!attr || attr->kind != "list") return std::nullopt;
  std::vector<int64_t> values;
  for (const AttrScalar& item : attr->list) {
    const int64_t* value = std::get_if<int64_t>(&item);
    if (value == nullptr) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace flowscope
