// flowscope repair: finish a folder whose recording was cut off.
#include "flowscope/trace_file.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples = "  flowscope repair run.flow\n";

int RunRepair(const std::string& path, bool json) {
  const Result<bool> repaired = api::RepairTrace(path);
  if (!repaired.ok()) return Fail(repaired.status());
  const Result<api::Trace> trace = api::OpenTrace(path);
  if (!trace.ok()) return Fail(trace.status());
  const std::string ops = std::to_string(trace->num_ops());
  if (json) {
    return Print("{\"repaired\": " + std::string(*repaired ? "true" : "false") +
                 ", \"num_ops\": " + ops + "}");
  }
  return Print(path + (*repaired ? " is finished now: " : " is finished already: ") + ops + " ops");
}

}  // namespace

void AddRepair(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("repair", "finish a folder whose recording was cut off");
  verb->footer(Footer(kExamples));
  auto path = std::make_shared<std::string>();
  verb->add_option("TRACE", *path, "folder NAME.flow that nobody is writing")
      ->required()
      ->type_name("PATH");
  verb->callback(
      [path, &common, &run] { run = [path, &common] { return RunRepair(*path, common.json); }; });
}

}  // namespace flowscope::cli
