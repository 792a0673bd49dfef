// flowscope show: one op, layer, module, call or variable of a trace.
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope show run.flow matmul_1_3\n"
    "  flowscope show run.flow encoder.blocks.0 --json\n"
    "  flowscope show run.flow softmax_1:2 --values 10\n";

struct Flags {
  std::string path;
  std::string key;
  int64_t values = -1;  // not given
};

int RunShow(const Flags& flags, bool json) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return Fail(trace.status());
  if (json) {
    return Print(flags.values < 0 ? trace->DescribeJson(flags.key)
                                  : trace->DescribeJson(flags.key, flags.values));
  }
  if (const int code = Print(trace->Describe(flags.key)); code != kExitOk) return code;
  return flags.values < 0 ? kExitOk : Print(trace->Elements(flags.key, flags.values));
}

}  // namespace

void AddShow(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("show", "one op, layer, call or variable of a trace");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  AddTracePath(*verb, flags->path);
  verb->add_option("KEY", flags->key, "label or address, as `ops` and `summary` show them")
      ->required()
      ->type_name("NAME");
  verb->add_option("--values", flags->values, "print the first N elements of its value too")
      ->type_name("N")
      ->check(Count());
  verb->callback(
      [flags, &common, &run] { run = [flags, &common] { return RunShow(*flags, common.json); }; });
}

}  // namespace flowscope::cli
