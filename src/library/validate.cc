#include "flowscope/validate.h"

#include "flowscope/tensorflow.h"
#include "library/json.h"
#include "library/runtime.h"
#include "replay/validate.h"
#include "tf/c_api.h"

namespace flowscope::api {
namespace {

using library::Json;

std::vector<ValidationFinding> ToFindings(const std::vector<replay::Finding>& findings) {
  std::vector<ValidationFinding> copies;
  for (const replay::Finding& finding : findings) {
    copies.push_back({finding.check, finding.label, finding.message});
  }
  return copies;
}

Json FindingsJson(const std::vector<ValidationFinding>& findings) {
  Json list = Json::array();
  for (const ValidationFinding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"label", library::TextOrNull(finding.label)},
                    {"message", finding.message}});
  }
  return list;
}

}  // namespace

Result<ValidationReport> Validate(const Trace& trace, const ValidateOptions& options) {
  replay::ValidateOptions how;
  how.perturb = options.perturb;
  how.progress = options.progress;
  if (options.tolerance) {
    how.tolerance = [relative =
                         *options.tolerance](DType dtype) -> std::optional<replay::Tolerance> {
      if (IsFloating(dtype) || IsComplex(dtype)) return replay::Tolerance{relative, 0.0};
      return std::nullopt;
    };
  }
  if (tf::ApiLoaded()) {
    const Result<TFE_Context*> context = library::ProcessContext();
    if (!context.ok()) return context.status();
    how.sandbox.functions = *context;
  }
  Result<replay::Report> report = replay::Validate(*trace.record(), how);
  if (!report.ok()) return report.status();
  return ValidationReport{std::string(replay::StateName(report->state)),
                          std::move(report->reason),
                          std::move(report->coverage),
                          ToFindings(report->failures),
                          ToFindings(report->unverified),
                          std::move(report->first_difference)};
}

std::string ToText(const ValidationReport& report) {
  return replay::FormatReport(report.state, report.reason, report.coverage);
}

std::string ToJson(const ValidationReport& report) {
  const Json json = {{"state", report.state},
                     {"reason", report.reason},
                     {"coverage", report.coverage},
                     {"failures", FindingsJson(report.failures)},
                     {"unverified", FindingsJson(report.unverified)},
                     {"first_difference", library::TextOrNull(report.first_difference)}};
  return library::Dump(json);
}

}  // namespace flowscope::api
