// flowscope nan: where the first NaN or infinity of a trace began.
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples = "  flowscope nan run.flow && echo all values are finite\n";
constexpr const char* kExitCodes =
    "exit codes: 0 every kept value is finite, 1 there is a NaN or an infinity, 2 usage,\n"
    "            3 not found, 4 damaged or unreadable file, 5 no value was kept";

int RunNan(const std::string& path, bool json) {
  const Result<api::Trace> trace = OpenTrace(path);
  if (!trace.ok()) return Fail(trace.status());
  const Result<api::Trace::NonFinite> first = trace->FirstNonFinite();
  if (!first.ok()) return Fail(first.status());
  Print(json ? first->json : first->text);
  return first->found ? kExitFinding : kExitOk;
}

}  // namespace

void AddNan(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("nan", "where the first NaN or infinity began, and why");
  verb->footer(Footer(kExamples, kExitCodes));
  auto path = std::make_shared<std::string>();
  AddTracePath(*verb, *path);
  verb->callback(
      [path, &common, &run] { run = [path, &common] { return RunNan(*path, common.json); }; });
}

}  // namespace flowscope::cli
