#include "replay/order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "replay/moves.h"

namespace flowscope::replay {
namespace {

// Runs of an op whose value was not met again.
constexpr int kTries = 24;
constexpr double kRoundingFactor = 8;

using Values = Replayer::Values;

// A value of one run that the other does not have counts as a difference.
bool Differ(const Values& a, const Values& b) {
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i] && !SameBits(*a[i], *b[i])) return true;
  }
  return false;
}

bool TwoRunsDiffer(Replayer& replayer, OpId id, const Values& first) {
  for (int i = 1; i < kTries; ++i) {
    const Values other = replayer.RunOnce(id);
    if (other.empty()) return false;
    if (Differ(first, other)) return true;
  }
  return false;
}

double Magnitude(const Payload& value) {
  const FloatFormat format = FloatFormatOf(PartOf(value.dtype));
  const size_t size = DTypeSize(PartOf(value.dtype));
  double largest = 0;
  for (size_t i = 0; i < NumParts(value); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(value.data) + i * size, size);
    const double number = std::abs(DecodeFloat(format, bits));
    if (std::isfinite(number)) largest = std::max(largest, number);
  }
  return largest;
}

// The inputs whose numbers can be added.
std::vector<std::pair<size_t, Payload>> FloatInputs(const Replayer& replayer, OpId id) {
  std::vector<std::pair<size_t, Payload>> inputs;
  const auto edges = replayer.trace().inputs(id);
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].tensor == kNoId || edges[i].edge_class == EdgeClass::kVariable) continue;
    Result<Payload> value = replayer.Value(edges[i].tensor);
    if (value.ok() && IsMovable(value->dtype)) inputs.emplace_back(i, std::move(value).value());
  }
  return inputs;
}

// Every value is the recorded one, or a float that is as near as rounding makes it.
bool NearRecord(const Values& recorded, const Values& run,
                const std::vector<std::pair<size_t, Payload>>& inputs) {
  if (recorded.size() != run.size()) return false;
  size_t count = 1;
  double terms = 0;
  for (const auto& [index, value] : inputs) {
    count = std::max(count, NumParts(value));
    terms = std::max(terms, Magnitude(value));
  }
  for (size_t i = 0; i < run.size(); ++i) {
    if (!recorded[i] || !run[i]) continue;
    Tolerance tolerance;
    if (IsMovable(run[i]->dtype)) {
      const double magnitude = std::max(terms, Magnitude(*recorded[i]));
      tolerance.absolute = RoundingBound(run[i]->dtype, count, magnitude);
    }
    if (!Compare(*recorded[i], *run[i], tolerance).within()) return false;
  }
  return true;
}

// By number of one value: whether it differs between two runs.
std::vector<bool> Changed(const Payload& a, const Payload& b) {
  const size_t size = DTypeSize(PartOf(a.dtype));
  std::vector<bool> changed(NumParts(a), false);
  if (a.dims != b.dims || a.dtype != b.dtype) return std::vector<bool>(changed.size(), true);
  const auto* left = static_cast<const char*>(a.data);
  const auto* right = static_cast<const char*>(b.data);
  for (size_t i = 0; i < changed.size(); ++i) {
    changed[i] = std::memcmp(left + i * size, right + i * size, size) != 0;
  }
  return changed;
}

using Part = std::function<bool(size_t)>;

// Whether one number of a result follows numbers of both parts of an input: then it is made of
// several of them.
bool FollowsBoth(Replayer& replayer, OpId id, const Values& run, size_t input, const Payload& value,
                 const Part& part) {
  Values moved[2];
  for (const bool side : {false, true}) {
    const Result<tf::HandlePtr> handle =
        Moved(value, MoveLittle, [&](size_t i) { return part(i) == side; });
    if (!handle.ok()) return false;
    moved[side ? 1 : 0] = replayer.RunOnce(id, {{input, handle->get()}});
  }
  if (moved[0].size() != run.size() || moved[1].size() != run.size()) return false;
  for (size_t i = 0; i < run.size(); ++i) {
    if (!run[i] || !moved[0][i] || !moved[1][i] || !IsMovable(run[i]->dtype)) continue;
    const std::vector<bool> a = Changed(*run[i], *moved[0][i]);
    const std::vector<bool> b = Changed(*run[i], *moved[1][i]);
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] && b[k]) return true;
    }
  }
  return false;
}

// Two numbers that meet in a sum are in different parts of one of these divisions, all but surely.
bool Adds(Replayer& replayer, OpId id, const Values& run,
          const std::vector<std::pair<size_t, Payload>>& inputs) {
  for (const auto& [index, value] : inputs) {
    const size_t half = NumParts(value) / 2;
    const std::array<Part, 4> divisions = {
        [](size_t i) { return i % 2 == 0; }, [half](size_t i) { return i < half; },
        [](size_t i) { return Mix(i + 1) % 2 == 0; }, [](size_t i) { return Mix(~i) % 2 == 0; }};
    for (const Part& division : divisions) {
      if (FollowsBoth(replayer, id, run, index, value, division)) return true;
    }
  }
  return false;
}

}  // namespace

double RoundingBound(DType dtype, size_t count, double magnitude) {
  const FloatFormat format = FloatFormatOf(PartOf(dtype));
  const double unit = std::ldexp(1.0, -format.mantissa_bits);
  return kRoundingFactor * std::sqrt(static_cast<double>(count)) * unit * magnitude;
}

Order LookAtOrder(Replayer& replayer, OpId id) {
  const Values run = replayer.RunOnce(id);
  if (run.empty()) return Order::kFixed;
  if (TwoRunsDiffer(replayer, id, run)) return Order::kVaries;
  const auto inputs = FloatInputs(replayer, id);
  const bool could =
      NearRecord(replayer.Recorded(id), run, inputs) && Adds(replayer, id, run, inputs);
  return could ? Order::kCouldVary : Order::kFixed;
}

}  // namespace flowscope::replay
