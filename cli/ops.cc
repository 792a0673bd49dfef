// flowscope ops: the ops of a trace, in the order in which they started.
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope ops run.flow --type 'conv*' --limit 10\n"
    "  flowscope ops run.flow --layer encoder.blocks.0 --json\n"
    "  flowscope ops run.flow 'relu_*:2'\n";

struct Flags {
  std::string path;
  api::OpFilter filter;
};

int RunOps(const Flags& flags, bool json) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return Fail(trace.status());
  return Print(json ? trace->OpsJson(flags.filter) : trace->Ops(flags.filter));
}

}  // namespace

void AddOps(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("ops", "the ops of a trace, in the order of execution");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  AddTracePath(*verb, flags->path);
  AddFilter(*verb, flags->filter);
  verb->callback(
      [flags, &common, &run] { run = [flags, &common] { return RunOps(*flags, common.json); }; });
}

}  // namespace flowscope::cli
