#include "replay/validate.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "replay/checks.h"
#include "replay/replayer.h"

namespace flowscope::replay {
namespace {

constexpr size_t kProgressEvery = 64;

class Validation {
 public:
  Validation(const Trace& trace, const ValidateOptions& options)
      : trace_(trace), options_(options) {}

  Result<Report> Run();

 private:
  bool Add(CheckResult result);
  Status RunChecks();
  Status Replay();
  void Count(OpId id, Verdict verdict);
  void Conclude();

  const Trace& trace_;
  const ValidateOptions& options_;
  Report report_;
  std::vector<Finding> not_kept_;
};

bool Validation::Add(CheckResult result) {
  report_.coverage["checks"] += result.num_checks;
  const bool sound = result.failures.empty();
  for (Finding& finding : result.failures) report_.failures.push_back(std::move(finding));
  return sound;
}

Status Validation::RunChecks() {
  Add(CheckTimes(trace_));
  Add(CheckRegions(trace_));
  Add(CheckBoundaries(trace_));
  Result<CheckResult> values = CheckValues(trace_);
  FLOWSCOPE_RETURN_IF_ERROR(values.status());
  Add(std::move(values).value());
  return Status::Ok();
}

void Validation::Count(OpId id, Verdict verdict) {
  ++report_.coverage[verdict.proof];
  if (verdict.message.empty()) return;
  Finding finding{std::move(verdict.check), id, trace_.OpLabel(id), std::move(verdict.message)};
  switch (verdict.standing) {
    case Standing::kFailed:
      report_.failures.push_back(std::move(finding));
      break;
    case Standing::kUnavailable:
      not_kept_.push_back(std::move(finding));
      break;
    default:
      report_.unverified.push_back(std::move(finding));
  }
}

Status Validation::Replay() {
  Result<std::unique_ptr<Sandbox>> sandbox = Sandbox::Make(options_.sandbox);
  FLOWSCOPE_RETURN_IF_ERROR(sandbox.status());
  CompareOptions compare{options_.tolerance, true};
  compare.same_tensorflow = trace_.info().tensorflow_version == tf::Api().TF_Version();
  if (!compare.tolerance && !compare.same_tensorflow) compare.tolerance = DefaultTolerance;
  Replayer replayer(trace_, **sandbox, std::move(compare));
  for (OpId id = 0; id < trace_.num_ops(); ++id) {
    if (options_.progress && id % kProgressEvery == 0 && !options_.progress(id, trace_.num_ops())) {
      return FailedPrecondition("the validation was ended before it was done");
    }
    Result<Verdict> verdict = replayer.Judge(id);
    FLOWSCOPE_RETURN_IF_ERROR(verdict.status());
    Count(id, std::move(verdict).value());
  }
  if (options_.progress) options_.progress(trace_.num_ops(), trace_.num_ops());
  return Status::Ok();
}

void Validation::Conclude() {
  if (!report_.failures.empty()) {
    report_.state = State::kFailed;
    report_.reason = report_.failures.front().message;
  } else if (!not_kept_.empty()) {
    report_.state = State::kUnavailable;
    report_.reason = fmt::format(
        "values of {} ops that replay needs were not kept; record with save=\"all\" and "
        "keep=\"values\"",
        not_kept_.size());
  } else if (!report_.unverified.empty()) {
    report_.state = State::kUnverified;
    report_.reason = report_.unverified.front().message;
  } else {
    report_.state = State::kPassed;
    report_.reason = "every op is replayed, proved by version history, or a declared source";
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
