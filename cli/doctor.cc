// flowscope doctor: what is here, and what will not work and why.
#include "flowscope/doctor.h"

#include "verb.h"

namespace flowscope::cli {
namespace {

int RunDoctor(const Common& common) {
  const api::DoctorReport report = api::Doctor(common.tensorflow);
  Print(common.json ? api::ToJson(report) : api::ToText(report));
  return report.problems.empty() ? kExitOk : kExitFinding;
}

}  // namespace

void AddDoctor(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("doctor", "what is here, and what will not work and why");
  verb->footer(
      Footer("  flowscope doctor --tensorflow /usr/lib/python3/site-packages/tensorflow\n"));
  verb->callback([&common, &run] { run = [&common] { return RunDoctor(common); }; });
}

}  // namespace flowscope::cli
