#include "replay/validate.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "replay/checks.h"
#include "replay/perturb.h"
#include "replay/replayer.h"

namespace flowscope::replay {
namespace {

constexpr size_t kProgressEvery = 64;

// True for the proofs that come from running the op, with values that can be compared to the bit.
bool WasRun(std::string_view proof) { return proof == "replayed" || proof == "replayed_whole"; }

class Validation {
 public:
  Validation(const Trace& trace, const ValidateOptions& options)
      : trace_(trace), options_(options) {}

  Result<Report> Run();

 private:
  bool Add(CheckResult result);
  bool SameTensorFlow() const { return trace_.info().tensorflow_version == tf::Api().TF_Version(); }
  Status RunChecks();
  Status Replay();
  std::function<Tolerance(DType)> Bounds(bool same_tensorflow) const;
  bool LetGoOfSteps() const;
  void FindUnread();
  Status Move(Replayer& replayer, OpId id);
  void Count(OpId id, Verdict verdict);
  void Conclude();

  const Trace& trace_;
  const ValidateOptions& options_;
  Report report_;
  std::vector<Finding> not_kept_;
  std::vector<bool> ran_;  // by op: it was run again
};

bool Validation::Add(CheckResult result) {
  report_.coverage["checks"] += result.num_checks;
  const bool sound = result.failures.empty();
  for (Finding& finding : result.failures) report_.failures.push_back(std::move(finding));
  for (Finding& finding : result.unverified) report_.unverified.push_back(std::move(finding));
  return sound;
}

Status Validation::RunChecks() {
  Add(CheckTimes(trace_));
  Add(CheckRegions(trace_));
  Add(CheckBoundaries(trace_));
  Add(CheckTables(trace_));
  if (tf::ApiLoaded()) Add(CheckSignatures(trace_, SameTensorFlow()));
  Result<CheckResult> values = CheckValues(trace_);
  FLOWSCOPE_RETURN_IF_ERROR(values.status());
  Add(std::move(values).value());
  Result<CheckResult> calls = CheckOpenedCalls(trace_);
  FLOWSCOPE_RETURN_IF_ERROR(calls.status());
  Add(std::move(calls).value());
  return Status::Ok();
}

void Validation::Count(OpId id, Verdict verdict) {
  ++report_.coverage[verdict.proof];
  if (verdict.message.empty()) return;
  if (verdict.standing == Standing::kProved) {
    if (report_.first_difference.empty()) report_.first_difference = std::move(verdict.message);
    return;
  }
  Finding finding{std::move(verdict.check), id, trace_.OpLabel(id), std::move(verdict.message)};
  switch (verdict.standing) {
    case Standing::kFailed:
      report_.failures.push_back(std::move(finding));
      break;
    case Standing::kUnavailable:
      not_kept_.push_back(std::move(finding));
      break;
    case Standing::kDeclared:
      report_.declared.push_back(std::move(finding));
      break;
    default:
      report_.unverified.push_back(std::move(finding));
  }
}

// A training run that was recorded keeps the values of its last steps, unless told otherwise.
bool Validation::LetGoOfSteps() const {
  return std::ranges::any_of(trace_.info().notes, [](const std::string& note) {
    return note.find("(keep_steps=)") != std::string::npos;
  });
}

// Null where nothing but the same bits will do.
std::function<Tolerance(DType)> Validation::Bounds(bool same_tensorflow) const {
  if (!options_.tolerance && same_tensorflow) return nullptr;
  return [given = options_.tolerance, same_tensorflow](DType dtype) {
    const std::optional<Tolerance> told = given ? given(dtype) : std::nullopt;
    if (told) return *told;
    return same_tensorflow ? Tolerance{} : DefaultTolerance(dtype);
  };
}

Status Validation::Replay() {
  SandboxOptions settings = options_.sandbox;
  for (const FunctionRecord& function : trace_.tables().functions) {
    settings.bodies.emplace(trace_.str(function.name),
                            trace_.tables().attrs.View(function.definition));
  }
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::Make(settings);
  FLOWSCOPE_RETURN_IF_ERROR(sandbox.status());
  CompareOptions compare{Bounds(SameTensorFlow()), SameTensorFlow()};
  Replayer replayer(trace_, **sandbox, std::move(compare));
  for (OpId id = 0; id < trace_.num_ops(); ++id) {
    if (options_.progress && id % kProgressEvery == 0 && !options_.progress(id, trace_.num_ops())) {
      return FailedPrecondition("the validation was ended before it was done");
    }
    Result<Verdict> verdict = replayer.Judge(id);
    FLOWSCOPE_RETURN_IF_ERROR(verdict.status());
    const bool ran = verdict->standing == Standing::kProved && WasRun(verdict->proof);
    ran_.push_back(ran);
    Count(id, std::move(verdict).value());
    if (options_.perturb && ran) FLOWSCOPE_RETURN_IF_ERROR(Move(replayer, id));
  }
  if (options_.progress) options_.progress(trace_.num_ops(), trace_.num_ops());
  FindUnread();
  return Status::Ok();
}

Status Validation::Move(Replayer& replayer, OpId id) {
  Result<Perturbation> moved = Perturb(trace_, replayer, id);
  FLOWSCOPE_RETURN_IF_ERROR(moved.status());
  for (const auto& [rule, count] : moved->rules) report_.coverage[rule] += count;
  for (std::string& message : moved->unexplained) {
    report_.unverified.push_back({"perturbation", id, trace_.OpLabel(id), std::move(message)});
  }
  return Status::Ok();
}

// An op that gives no bytes (a list of tensors, an optional) was run again, but only what is read
// from it later can be compared. What nobody reads is a handle to something as others are.
void Validation::FindUnread() {
  std::vector<bool> shown(trace_.num_ops(), false);
  for (OpId id = static_cast<OpId>(trace_.num_ops()); id-- > 0;) {
    const Span outputs = trace_.op(id).outputs;
    bool only_variants = outputs.count > 0;
    for (uint32_t i = 0; i < outputs.count; ++i) {
      const DType dtype = trace_.tensor(outputs.first + i).dtype;
      only_variants = only_variants && dtype == DType::kVariant;
    }
    const auto children = trace_.Children(id);
    shown[id] =
        !only_variants || std::ranges::any_of(children, [&](OpId child) { return shown[child]; });
    if (shown[id] || !ran_[id]) continue;
    --report_.coverage["replayed"];
    ++report_.coverage["handle"];
    report_.declared.push_back(
        {"declared", id, trace_.OpLabel(id),
         fmt::format(
             "{} gives no value that can be compared, and nothing that can was read from it",
             trace_.OpLabel(id))});
  }
}

void Validation::Conclude() {
  if (!report_.failures.empty()) {
    report_.state = State::kFailed;
    report_.reason = report_.failures.front().message;
  } else if (trace_.num_ops() == 0) {
    report_.state = State::kUnavailable;
    report_.reason = "the trace holds no op: there is nothing that could be proved";
  } else if (!not_kept_.empty()) {
    report_.state = State::kUnavailable;
    report_.reason = fmt::format(
        "values of {} ops that replay needs were not kept; record with save=\"all\" and "
        "keep=\"values\"{}",
        not_kept_.size(),
        LetGoOfSteps() ? ", and keep_steps=None for all steps of a training run" : "");
  } else if (!report_.unverified.empty()) {
    report_.state = State::kUnverified;
    report_.reason = report_.unverified.front().message;
  } else {
    report_.state = State::kPassed;
    report_.reason = "every op is replayed, proved by version history, or a declared source";
    if (!report_.first_difference.empty()) {
      report_.reason +=
          "; within the tolerance, the first that differs is " + report_.first_difference;
    }
  }
  const size_t more = report_.state == State::kFailed       ? report_.failures.size() - 1
                      : report_.state == State::kUnverified ? report_.unverified.size() - 1
                                                            : 0;
  if (more > 0) report_.reason += fmt::format(" (and {} more)", more);
}

Result<Report> Validation::Run() {
  if (!Add(CheckInvariants(trace_))) {
    Conclude();
    return std::move(report_);
  }
  FLOWSCOPE_RETURN_IF_ERROR(RunChecks());
  if (!tf::ApiLoaded()) {
    Conclude();
    if (report_.state == State::kFailed) return std::move(report_);
    report_.state = State::kUnavailable;
    report_.reason = "TensorFlow is not loaded in this process: ops cannot be run again";
    return std::move(report_);
  }
  FLOWSCOPE_RETURN_IF_ERROR(Replay());
  Conclude();
  return std::move(report_);
}

}  // namespace

Result<Report> Validate(const Trace& trace, const ValidateOptions& options) {
  return Validation(trace, options).Run();
}

}  // namespace flowscope::replay
