// flowscope trace: run a signature of a SavedModel once and show what ran.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "flowscope/npy.h"
#include "flowscope/saved_model.h"
#include "flowscope/tensorflow.h"
#include "flowscope/trace_file.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExamples =
    "  flowscope trace my_model --input x.npy -o run.flow\n"
    "  flowscope trace my_model --input ids=ids.npy --input mask=mask.npy --signature score\n"
    "  flowscope trace my_model --structure-only\n";

struct Flags {
  std::string model;
  std::vector<std::string> inputs;
  std::string signature;
  std::string outputs_to;
  std::string output;
  bool compress = false;
  bool overwrite = false;
  std::vector<std::string> op_libraries;
  std::string keep = "values";
  std::string level = "auto";
  bool whole_functions = false;
  bool raise_on_nan = false;
  bool structure_only = false;
};

// "NAME=FILE", or "FILE" alone where there is one input.
Status ReadInput(const std::string& text, const api::SignatureSpec& signature,
                 std::map<std::string, Payload>& inputs) {
  const size_t equals = text.find('=');
  std::string name = text.substr(0, equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos) {
    if (signature.inputs.size() != 1) {
      std::string known;
      for (const api::TensorSpec& spec : signature.inputs) {
        known += (known.empty() ? "" : ", ") + api::ToString(spec);
      }
      return InvalidArgument("--input " + text + " names no input; write --input NAME=" + text +
                             ". Signature '" + signature.key + "' takes " +
                             (known.empty() ? "nothing" : known));
    }
    name = signature.inputs.front().name;
  }
  Result<Payload> value =
      api::ReadNpy(equals == std::string::npos ? text : text.substr(equals + 1));
  if (!value.ok()) return value.status();
  if (!inputs.emplace(name, std::move(value).value()).second) {
    return InvalidArgument("input '" + name + "' is given twice");
  }
  return Status::Ok();
}

// One NAME.npy for each output.
Status WriteOutputs(const api::Trace& trace, const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  for (const auto& [path, value] : trace.outputs()) {
    const size_t begin = path.find('\'');
    std::string name = path.substr(begin + 1, path.rfind('\'') - begin - 1);
    for (char& letter : name) letter = letter == '/' ? '_' : letter;
    const auto file = std::filesystem::path(dir) / (name + ".npy");
    FLOWSCOPE_RETURN_IF_ERROR(api::WriteNpy(file.string(), value));
  }
  return Status::Ok();
}

Status Prepare(const Flags& flags, const Common& common) {
  const Result<api::TensorFlowInfo> loaded = api::LoadTensorFlow(common.tensorflow);
  if (!loaded.ok()) return loaded.status();
  for (const std::string& library : flags.op_libraries) {
    FLOWSCOPE_RETURN_IF_ERROR(api::LoadOpLibrary(library));
  }
  return Status::Ok();
}

// A zip cannot be written piece by piece: its values stay in memory until the model has ended.
bool IsZip(const Flags& flags) { return flags.output.ends_with(".zip"); }

api::SaveOptions SaveOptionsOf(const Flags& flags) { return {flags.compress, flags.overwrite}; }

// Nothing runs where what it gives could not be saved.
Status CheckPaths(const Flags& flags) {
  if (api::KindOfPath(flags.model) == api::PathKind::kTrace) {
    return {StatusCode::kInvalidArgument, flags.model +
                                              " is a trace that was recorded already: "
                                              "`flowscope summary` shows it"};
  }
  if (flags.output.empty()) return Status::Ok();
  return api::CheckSavePath(flags.output, flags.overwrite);
}

Result<api::Recording> Record(const Flags& flags, const Common& common) {
  Result<api::SavedModel> model = api::SavedModel::Open(flags.model);
  if (!model.ok()) return model.status();
  const Result<api::SignatureSpec> signature = model->FindSignature(flags.signature);
  if (!signature.ok()) return signature.status();
  std::map<std::string, Payload> inputs;
  for (const std::string& input : flags.inputs) {
    FLOWSCOPE_RETURN_IF_ERROR(ReadInput(input, *signature, inputs));
  }
  FLOWSCOPE_RETURN_IF_ERROR(Prepare(flags, common));
  api::RecordOptions options;
  options.signature = signature->key;
  options.keep_values = flags.keep == "values";
  options.open_functions = !flags.whole_functions;
  options.raise_on_nan = flags.raise_on_nan;
  if (!IsZip(flags)) options.stream_to = flags.output;
  options.stream = SaveOptionsOf(flags);
  Result<api::Recording> recording = model->Record(inputs, options);
  if (recording.ok() && IsZip(flags)) {
    recording->written = api::SaveTrace(recording->trace, flags.output, SaveOptionsOf(flags));
  }
  return recording;
}

int PrintSummary(const api::Trace& trace, const Flags& flags, bool json) {
  if (json) return Print(trace.SummaryJson());
  api::SummaryOptions options;
  options.level = flags.level;
  return Print(trace.Summary(options));
}

int RunStructure(const Flags& flags, const Common& common) {
  const Result<api::SavedModel> model = api::SavedModel::Open(flags.model);
  if (!model.ok()) return Fail(model.status());
  if (!flags.inputs.empty()) {
    return Fail({StatusCode::kInvalidArgument, "--structure-only takes no --input: nothing runs"});
  }
  const Status ready = Prepare(flags, common);
  if (!ready.ok()) return Fail(ready);
  const Result<api::Trace> structure = model->Structure(flags.signature);
  if (!structure.ok()) return Fail(structure.status());
  if (!flags.output.empty()) {
    const Status saved = api::SaveTrace(*structure, flags.output, SaveOptionsOf(flags));
    if (!saved.ok()) return Fail(saved);
  }
  return PrintSummary(*structure, flags, common.json);
}

// The outputs and the file are written before anything is printed: a reader of the summary may not
// wait for its end.
Status WriteFiles(const api::Recording& recording, const Flags& flags) {
  FLOWSCOPE_RETURN_IF_ERROR(recording.written);
  if (flags.outputs_to.empty() || !recording.status.ok()) return Status::Ok();
  return WriteOutputs(recording.trace, flags.outputs_to);
}

int RunTrace(const Flags& flags, const Common& common) {
  const Status usable = CheckPaths(flags);
  if (!usable.ok()) return Fail(usable);
  if (flags.structure_only) return RunStructure(flags, common);
  const Result<api::Recording> recording = Record(flags, common);
  if (!recording.ok()) return Fail(recording.status());
  const api::Trace& trace = recording->trace;
  const Status written = WriteFiles(*recording, flags);
  if (const int code = PrintSummary(trace, flags, common.json); code != kExitOk) return code;
  std::fflush(stdout);
  if (!recording->status.ok()) {
    std::fprintf(stderr, "flowscope: the model failed: %s\n", recording->status.message().c_str());
    if (!written.ok()) Fail(written);
    return kExitFailed;
  }
  if (!written.ok()) return Fail(written);
  if (!flags.raise_on_nan) return kExitOk;
  const Result<api::Trace::NonFinite> first = trace.FirstNonFinite();
  if (!first.ok() || !first->found) return kExitOk;
  std::fprintf(stderr, "%s\n", first->text.c_str());
  return kExitFinding;
}

}  // namespace

void AddTrace(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("trace", "run a signature of a SavedModel and record it");
  verb->footer(Footer(kExamples));
  auto flags = std::make_shared<Flags>();
  verb->add_option("SAVED_MODEL", flags->model, "folder that holds saved_model.pb")->required();
  verb->add_option("-i,--input", flags->inputs,
                   "value of an input; NAME= can be left out where there is one")
      ->type_name("NAME=FILE.npy")
      ->expected(1)
      ->take_all();
  verb->add_option("-s,--signature", flags->signature,
                   "signature to run (default: serving_default, or the only one)")
      ->type_name("KEY");
  CLI::Option* output =
      verb->add_option("-o,--output", flags->output,
                       "keep the trace: a folder NAME.flow, written while the model runs, or one "
                       "file NAME.flow.zip")
          ->type_name("TRACE");
  verb->add_flag("--overwrite", flags->overwrite, "replace a trace that is there")->needs(output);
  verb->add_flag("--compress", flags->compress, "smaller values in TRACE, with zstd")
      ->needs(output);
  verb->add_option("--outputs-to", flags->outputs_to, "write each output as DIR/NAME.npy")
      ->type_name("DIR");
  verb->add_option("--op-library", flags->op_libraries, "shared library with ops of the model")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  verb->add_option("--keep", flags->keep, "what is kept of each value: values or stats")
      ->check(CLI::IsMember({"values", "stats"}))
      ->type_name("WHAT");
  verb->add_option("--level", flags->level, "rows of the summary: auto, module or op")
      ->check(CLI::IsMember({"auto", "module", "op"}))
      ->type_name("LEVEL");
  verb->add_flag("--whole-functions", flags->whole_functions,
                 "run compiled functions as one op each");
  verb->add_flag("--structure-only", flags->structure_only,
                 "what would run, from the file alone: no kernel runs, no value is held");
  verb->add_flag("--raise-on-nan", flags->raise_on_nan,
                 "end at the first NaN or infinity, and tell where it began");
  verb->callback(
      [flags, &common, &run] { run = [flags, &common] { return RunTrace(*flags, common); }; });
}

}  // namespace flowscope::cli
