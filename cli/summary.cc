// flowscope summary: what a SavedModel takes and gives, or what a trace recorded.
#include "flowscope/saved_model.h"
#include "flowscope/trace_file.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope summary my_model\n"
    "  flowscope summary run.flow --level op --max-rows 0\n";

struct Flags {
  std::string path;
  api::SummaryOptions options;
  bool of_trace = false;  // a flag was given that only a trace has a use for
};

int SummarizeModel(const Flags& flags, bool json) {
  const Result<api::SavedModel> model = api::SavedModel::Open(flags.path);
  if (!model.ok()) return Fail(model.status());
  if (flags.of_trace) {
    return Fail({StatusCode::kInvalidArgument,
                 flags.path + " is a SavedModel: --level and --max-rows are for traces"});
  }
  return Print(json ? model->DescribeJson() : model->Describe());
}

int SummarizeTrace(const Flags& flags, bool json) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return Fail(trace.status());
  return json ? Print(trace->SummaryJson()) : Print(trace->Summary(flags.options));
}

int RunSummary(const Flags& flags, bool json) {
  const api::PathKind kind = api::KindOfPath(flags.path);
  if (kind == api::PathKind::kTrace) return SummarizeTrace(flags, json);
  if (kind == api::PathKind::kOther && !flags.path.ends_with("/saved_model.pb")) {
    return Fail({StatusCode::kInvalidArgument,
                 "'" + flags.path +
                     "' is neither a SavedModel (a folder that holds saved_model.pb) nor a trace "
                     "(a folder NAME.flow or a file NAME.flow.zip)"});
  }
  return SummarizeModel(flags, json);
}

}  // namespace

void AddSummary(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb =
      app.add_subcommand("summary", "what a SavedModel takes and gives, or what a trace recorded");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  verb->add_option("PATH", flags->path,
                   "folder of a SavedModel, or a trace: folder NAME.flow or file NAME.flow.zip")
      ->required()
      ->type_name("FOLDER");
  verb->add_option("--level", flags->options.level, "rows of a trace: auto, module or op")
      ->check(CLI::IsMember({"auto", "module", "op"}))
      ->type_name("LEVEL");
  verb->add_option("--max-rows", flags->options.max_rows, "rows of a trace; 0 for all")
      ->type_name("N")
      ->check(Count());
  verb->callback([verb, flags, &common, &run] {
    flags->of_trace = verb->count("--level") + verb->count("--max-rows") > 0;
    run = [flags, &common] { return RunSummary(*flags, common.json); };
  });
}

}  // namespace flowscope::cli
