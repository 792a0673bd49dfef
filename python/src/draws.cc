#include "draws.h"

#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "replay/values.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::string ShapeText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// Labels are the same in every run of the same code.
class RecordedDraws {
 public:
  explicit RecordedDraws(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
    for (OpId id = 0; id < trace_->num_ops(); ++id) {
      if (trace_->op(id).kind == OpKind::kRandom) by_label_.emplace(trace_->OpLabel(id), id);
    }
  }

  Status Replace(const std::string& label, std::string_view type,
                 std::span<TFE_TensorHandle*> outputs) const {
    const auto found = by_label_.find(label);
    if (found == by_label_.end() || trace_->str(trace_->op(found->second).type) != type) {
      return NotFound(fmt::format(
          "the record has no draw {} ({}): this run takes another path than the recorded one; "
          "rng=\"fresh\" draws anew",
          label, type));
    }
    const Span recorded = trace_->op(found->second).outputs;
    for (uint32_t i = 0; i < outputs.size() && i < recorded.count; ++i) {
      FLOWSCOPE_RETURN_IF_ERROR(ReplaceOne(label, recorded.first + i, outputs[i]));
    }
    return Status::Ok();
  }

 private:
  Status ReplaceOne(const std::string& label, TensorId tensor, TFE_TensorHandle*& handle) const {
    const Result<Payload> value = trace_->ReadTensor(tensor);
    if (!value.ok()) {
      return Unavailable(
          fmt::format("the draw {} was not kept: {}", label, value.status().message()));
    }
    const Result<Dims> dims = tf::HandleDims(handle);
    if (dims.ok() && *dims != value->dims) {
      return InvalidArgument(
          fmt::format("{} draws shape {}, but {} was recorded; give inputs of "
                      "the recorded shapes",
                      label, ShapeText(*dims), ShapeText(value->dims)));
    }
    Result<tf::HandlePtr> drawn = replay::ToHandle(*value);
    FLOWSCOPE_RETURN_IF_ERROR(drawn.status());
    tf::Api().TFE_DeleteTensorHandle(handle);
    handle = std::move(drawn).value().release();
    return Status::Ok();
  }

  std::shared_ptr<const Trace> trace_;
  std::unordered_map<std::string, OpId> by_label_;
};

}  // namespace

std::function<Status(const std::string&, std::string_view, std::span<TFE_TensorHandle*>)> DrawsOf(
    nb::handle trace) {
  const TracePtr object = TraceFromPython(trace);
  if (object == nullptr) return nullptr;
  return [draws = std::make_shared<const RecordedDraws>(object->trace)](
             const std::string& label, std::string_view type,
             std::span<TFE_TensorHandle*> outputs) { return draws->Replace(label, type, outputs); };
}

}  // namespace flowscope::python
