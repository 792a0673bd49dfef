// Steps of a training run, and what is let go of those that are long over.
#include <algorithm>
#include <unordered_set>

#include "capture/recorder.h"

namespace flowscope::capture {

RegionId Recorder::OpenStep(const std::string& name, uint32_t index, bool bounded) {
  RegionRecord region;
  region.kind = RegionKind::kIteration;
  region.name = builder_.Intern(name);
  region.index = index;
  const auto first = static_cast<OpId>(builder_.tables().ops.size());
  const RegionId step = builder_.OpenRegion(region);
  if (bounded && options_.keep_steps >= 0) {
    handles_.CountFresh();
    steps_.push_back({step, first, first});
  }
  return step;
}

void Recorder::CloseStep(RegionId step) {
  builder_.CloseRegion(step);
  if (steps_.empty() || steps_.back().region != step) return;
  steps_.back().end = static_cast<OpId>(builder_.tables().ops.size());
  while (steps_.size() > static_cast<size_t>(options_.keep_steps)) {
    AddNote("values of all steps but the last " + std::to_string(options_.keep_steps) +
            (options_.sink == nullptr ? " were let go (keep_steps=)"
                                      : " are in the file and not in memory (keep_steps=)"));
    ReleaseStep(steps_.front().first, steps_.front().end);
    steps_.pop_front();
  }
}

void Recorder::ReleaseStep(OpId first, OpId end) {
  TraceTables& tables = builder_.tables();
  std::unordered_set<TensorId> stays = variables_.FirstAndNewestValues();
  for (OpId id = first; id < end; ++id) {
    const OpRecord op = tables.ops[id];
    if (op.run_counter == 0) continue;  // a source
    for (uint32_t i = 0; i < op.outputs.count; ++i) {
      const TensorId tensor = op.outputs.first + i;
      if (stays.count(tensor) == 0) ReleaseValue(tensor);
    }
  }
  for (const VersionRecord& version : tables.versions) {
    const bool in_step = version.writer != kNoId && version.writer >= first && version.writer < end;
    if (in_step && version.value != kNoId && stays.count(version.value) == 0) {
      ReleaseValue(version.value);
    }
  }
  std::erase_if(body_constants_, [&](TensorId tensor) {
    const OpId source = tables.tensors[tensor].producer;
    if (source == kNoId || source < first || source >= end) return false;
    ReleaseValue(tensor);
    return true;
  });
}

void Recorder::ReleaseValue(TensorId tensor) {
  const tf::HandlePtr handle = payloads_->Take(tensor);
  if (handle == nullptr) return;
  TensorRecord& record = builder_.tables().tensors[tensor];
  if (record.state == PayloadState::kKept) {
    if (options_.sink == nullptr) record.state = PayloadState::kNotKept;  // else it is in the file
    values_.Forget(handle.get(), record.nbytes);
  }
  record.handle = 0;  // the address can come back as another's
  handles_.Release(handle.get());
  for (auto& [buffer, tensors] : buffers_) std::erase(tensors, tensor);
  std::erase_if(values_read_, [&](const auto& read) { return read.first == handle.get(); });
}

}  // namespace flowscope::capture
