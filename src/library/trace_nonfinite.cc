// The first NaN or infinity as text and as JSON.
#include "analyze/nonfinite.h"
#include "flowscope/trace.h"
#include "library/json.h"
#include "trace/trace.h"

namespace flowscope::api {
namespace {

using library::Json;

Json StepJson(const flowscope::Trace& trace, const NonFiniteStep& step) {
  return {{"op", step.op == kNoId ? Json(nullptr) : Json(trace.OpLabel(step.op))},
          {"element", step.element},
          {"value", step.value},
          {"nan", step.nan},
          {"pos_inf", step.pos_inf},
          {"neg_inf", step.neg_inf}};
}

Json ReportJson(const flowscope::Trace& trace, const NonFiniteReport& report) {
  Json chain = Json::array();
  for (const NonFiniteStep& step : report.chain) chain.push_back(StepJson(trace, step));
  Json parents = Json::array();
  for (const ParentValue& parent : report.parents) {
    parents.push_back({{"name", parent.name},
                       {"glance", parent.glance},
                       {"element", library::TextOrNull(parent.element)}});
  }
  Json json = StepJson(trace, report.first);
  json["cause"] = report.cause;
  json["parents"] = std::move(parents);
  json["chain"] = std::move(chain);
  json["first_nan"] =
      report.first_nan == kNoId ? Json(nullptr) : Json(trace.OpLabel(report.first_nan));
  json["nan_cause"] = library::TextOrNull(report.nan_cause);
  json["scanned"] = report.scanned;
  json["skipped"] = report.skipped;
  return json;
}

}  // namespace

Result<Trace::NonFinite> Trace::FirstNonFinite() const {
  const Result<NonFiniteSearch> search = SearchNonFinite(*trace_);
  if (!search.ok()) return search.status();
  if (!search->report) return NonFinite{false, FormatNothingFound(*search) + "\n", "null"};
  return NonFinite{true, FormatNonFinite(*trace_, *search->report),
                   library::Dump(ReportJson(*trace_, *search->report))};
}

}  // namespace flowscope::api
