// flowscope export: values or tables of a trace for other programs.
#include "flowscope/export.h"

#include "flowscope/trace_file.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope export run.flow --format npz -o values.npz --layer encoder\n"
    "  flowscope export run.flow -o convolutions.safetensors --type 'conv2d*'\n"
    "  flowscope export run.flow --format csv --table stats -o - | head\n";

struct Flags {
  std::string path;
  std::string output;
  api::ExportOptions options;
};

std::string ToJson(const api::ExportReport& report) {
  return "{\"format\": \"" + report.format + "\", \"num_ops\": " + std::to_string(report.num_ops) +
         ", \"num_values\": " + std::to_string(report.num_values) +
         ", \"not_kept\": " + std::to_string(report.not_kept) + "}";
}

std::string ToText(const api::ExportReport& report, const std::string& output) {
  std::string text = "wrote " + output;
  if (report.format != "csv") text += ": " + std::to_string(report.num_values) + " values";
  if (report.not_kept > 0) {
    text += "; " + std::to_string(report.not_kept) + " of the selected ops' were not kept";
  }
  return text;
}

int RunExport(const Flags& flags, bool json) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return Fail(trace.status());
  if (flags.output == "-") {
    if (flags.options.format == "csv") return Print(api::ToCsv(*trace, flags.options));
    return Fail({StatusCode::kInvalidArgument,
                 "only --format csv is written to the standard output; name a file with -o"});
  }
  const Result<api::ExportReport> report = api::Export(*trace, flags.output, flags.options);
  if (!report.ok()) return Fail(report.status());
  return Print(json ? ToJson(*report) : ToText(*report, flags.output));
}

}  // namespace

void AddExport(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("export", "values or tables of a trace for other programs");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  AddTracePath(*verb, flags->path);
  AddFilter(*verb, flags->options.filter);
  verb->add_option("-o,--output", flags->output, "file to write; - for the standard output (csv)")
      ->required()
      ->type_name("FILE");
  verb->add_option("--format", flags->options.format,
                   "npz or safetensors: values by label; csv: a table (default: by FILE's end)")
      ->check(CLI::IsMember({"npz", "safetensors", "csv", "parquet"}))
      ->type_name("FORMAT");
  verb->add_option("--table", flags->options.table, "rows of a csv file (default: ops)")
      ->check(CLI::IsMember({"ops", "stats", "layers", "modules", "module_calls", "variables",
                             "regions", "timeline"}))
      ->type_name("TABLE");
  verb->add_flag("--overwrite", flags->options.overwrite, "replace FILE where it exists");
  verb->callback([flags, &common, &run] {
    run = [flags, &common] { return RunExport(*flags, common.json); };
  });
}

}  // namespace flowscope::cli
