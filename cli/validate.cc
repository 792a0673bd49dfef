// flowscope validate: whether a trace is true.
#include "flowscope/validate.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "flowscope/tensorflow.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope validate run.flow\n"
    "  flowscope validate run.flow --tolerance 1e-5 --json\n";
constexpr const char* kExitCodes =
    "exit codes: 0 passed, 1 failed, 2 unverified: something could not be proved,\n"
    "            3 no verdict: usage, no such trace, damaged file, no TensorFlow, values not kept";
constexpr size_t kMostFindings = 8;

struct Flags {
  std::string path;
  bool perturb = false;
  double tolerance = -1;  // not given
  std::vector<std::string> op_libraries;
};

int NoVerdict(const Status& status) {
  Fail(status);
  return kExitNoVerdict;
}

int VerdictCode(const std::string& state) {
  if (state == "passed") return kExitPassed;
  if (state == "failed") return kExitRefuted;
  return state == "unverified" ? kExitUnverified : kExitNoVerdict;
}

std::string CheckTolerance(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number) && number >= 0;
  return is_number ? "" : "expected a number such as 1e-5, got '" + text + "'";
}

// A line that is written over, for a person who waits.
bool ShowProgress(size_t done, size_t total) {
  std::fprintf(stderr, "\rvalidate: %zu of %zu ops%s", done, total, done == total ? "\n" : "");
  return true;
}

std::string FindingsText(const std::vector<api::ValidationFinding>& findings, const char* title) {
  std::string text;
  for (size_t i = 0; i < findings.size() && i < kMostFindings; ++i) {
    text += "\n" + std::string(title) + " (" + findings[i].check + "): " + findings[i].message;
  }
  if (findings.size() > kMostFindings) {
    text +=
        "\n... " + std::to_string(findings.size() - kMostFindings) + " more; --json lists them all";
  }
  return text;
}

// Where TensorFlow is not here the record can still contradict itself.
Status Prepare(const Flags& flags, const Common& common) {
  const Result<api::TensorFlowInfo> loaded = api::LoadTensorFlow(common.tensorflow);
  if (!loaded.ok()) return loaded.status();
  for (const std::string& library : flags.op_libraries) {
    FLOWSCOPE_RETURN_IF_ERROR(api::LoadOpLibrary(library));
  }
  return Status::Ok();
}

int RunValidate(const Flags& flags, const Common& common) {
  const Result<api::Trace> trace = OpenTrace(flags.path);
  if (!trace.ok()) return NoVerdict(trace.status());
  const Status ready = Prepare(flags, common);
  api::ValidateOptions options;
  options.perturb = flags.perturb;
  if (flags.tolerance >= 0) options.tolerance = flags.tolerance;
  if (isatty(STDERR_FILENO) != 0) options.progress = ShowProgress;
  Result<api::ValidationReport> report = api::Validate(*trace, options);
  if (!report.ok()) return NoVerdict(report.status());
  if (!ready.ok() && report->state == "unavailable") report->reason = ready.message();
  Print(common.json ? api::ToJson(*report)
                    : api::ToText(*report) + FindingsText(report->failures, "failed") +
                          FindingsText(report->unverified, "unverified"));
  return VerdictCode(report->state);
}

}  // namespace

void AddValidate(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("validate", "run every op again from the trace, and compare");
  verb->footer(Footer(kExamples, kExitCodes));
  auto flags = std::make_shared<Flags>();
  AddTracePath(*verb, flags->path);
  verb->add_flag("--perturb", flags->perturb, "move each input and see that the outputs move");
  verb->add_option("--tolerance", flags->tolerance,
                   "relative difference that counts as equal (default: the same bits where the "
                   "trace comes from this TensorFlow)")
      ->type_name("NUMBER")
      ->check(CLI::Validator(CheckTolerance, ""));
  verb->add_option("--op-library", flags->op_libraries, "shared library with ops of the model")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  verb->callback(
      [flags, &common, &run] { run = [flags, &common] { return RunValidate(*flags, common); }; });
}

}  // namespace flowscope::cli
