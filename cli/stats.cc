// flowscope stats: numbers of every value of a trace.
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope stats run.flow\n"
    "  flowscope stats run.flow 'encoder.*' --json\n";

struct Flags {
  std::string path;
  api::OpFilter filter;
};

int RunStats(const Flags& flags, bool json) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return Fail(trace.status());
  return Print(json ? trace->StatsJson(flags.filter) : trace->Stats(flags.filter));
}

}  // namespace

void AddStats(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb =
      app.add_subcommand("stats", "minimum, maximum, mean, zeros, NaN and infinities of values");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  AddTracePath(*verb, flags->path);
  AddFilter(*verb, flags->filter);
  verb->callback(
      [flags, &common, &run] { run = [flags, &common] { return RunStats(*flags, common.json); }; });
}

}  // namespace flowscope::cli
