#include "draws.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "capture/op_kinds.h"
#include "replay/values.h"
#include "tf/op_registry.h"
#include "trace_binding.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

std::string ShapeText(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// A draw is known by its place, which other ops of a changed model, or of a first call that builds
// and traces, do not move. Labels count them.
class RecordedDraws : public capture::DrawSource {
 public:
  explicit RecordedDraws(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
    for (OpId id = 0; id < trace_->num_ops(); ++id) {
      const OpRecord& op = trace_->op(id);
      if (!IsDraw(op)) continue;
      const SiteRecord& site = trace_->site(op.site);
      draws_.push_back(id);
      by_place_.emplace(KeyOf({trace_->str(op.type), trace_->str(site.region_path),
                               trace_->str(site.module_address), site.nth, op.pass, ""}),
                        id);
    }
  }

  Status Replace(const Place& place, std::span<TFE_TensorHandle*> outputs) override {
    const auto found = by_place_.find(KeyOf(place));
    if (found == by_place_.end()) {
      return NotFound(fmt::format(
          "the record has no draw {} ({}): this run takes another path than the recorded one; "
          "rng=\"fresh\" draws anew",
          place.label, place.type));
    }
    used_.insert(found->second);
    const Span recorded = trace_->op(found->second).outputs;
    for (uint32_t i = 0; i < outputs.size() && i < recorded.count; ++i) {
      FLOWSCOPE_RETURN_IF_ERROR(ReplaceOne(place.label, recorded.first + i, outputs[i]));
    }
    return Status::Ok();
  }

  std::string LeftOver() const override {
    if (used_.size() == draws_.size()) return {};
    const auto first =
        std::ranges::find_if(draws_, [this](OpId id) { return used_.count(id) == 0; });
    return fmt::format(
        "{} of {} recorded draws were not put in place: this run did not come to them; the first "
        "is {} of the record",
        draws_.size() - used_.size(), draws_.size(), trace_->OpLabel(*first));
  }

 private:
  // A draw from a generator in a variable moves it on, and is recorded as a write.
  bool IsDraw(const OpRecord& op) const {
    if (op.kind == OpKind::kRandom) return true;
    if (op.kind != OpKind::kVariableWrite) return false;
    const std::string_view type = trace_->str(op.type);
    return capture::TraitsOf(type, tf::FindOpDef(type), false).kind == OpKind::kRandom;
  }
  static std::string KeyOf(const Place& place) {
    return fmt::format("{}\n{}\n{}\n{}\n{}", place.type, place.region_path, place.module_address,
                       place.nth, place.pass);
  }

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
                      "the recorded shapes, and record a model that is built",
                      label, ShapeText(*dims), ShapeText(value->dims)));
    }
    Result<tf::HandlePtr> drawn = replay::ToHandle(*value);
    FLOWSCOPE_RETURN_IF_ERROR(drawn.status());
    tf::Api().TFE_DeleteTensorHandle(handle);
    handle = std::move(drawn).value().release();
    return Status::Ok();
  }

  std::shared_ptr<const Trace> trace_;
  std::vector<OpId> draws_;  // in the order in which they ran
  std::unordered_map<std::string, OpId> by_place_;
  std::unordered_set<OpId> used_;
};

}  // namespace

std::shared_ptr<capture::DrawSource> DrawsOf(nb::handle trace) {
  const TracePtr object = TraceFromPython(trace);
  if (object == nullptr) return nullptr;
  return std::make_shared<RecordedDraws>(object->trace);
}

}  // namespace flowscope::python
