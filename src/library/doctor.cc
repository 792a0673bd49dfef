#include "flowscope/doctor.h"

#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "capture/function_host.h"
#include "capture/recorder.h"
#include "library/runtime.h"
#include "savedmodel/tensors.h"
#include "tf/c_api.h"
#include "tf/missing_entries.h"

namespace flowscope::api {
namespace {

std::string Machine() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.machine;
}

// Runs Neg on two numbers through a recorder and looks at what was recorded.
Status RecordOneOp(TFE_Context* context) {
  constexpr float kValues[] = {1.0F, -2.0F};
  Payload value;
  value.dtype = DType::kFloat32;
  value.dims = {2};
  value.data = kValues;
  value.nbytes = sizeof(kValues);
  Result<tf::HandlePtr> input = savedmodel::TensorFromPayload(value);
  if (!input.ok()) return input.status();
  capture::RecordOptions options;
  options.use_hook = false;
  Result<std::shared_ptr<capture::Recorder>> recorder =
      capture::Recorder::Start(std::move(options), nullptr);
  if (!recorder.ok()) return recorder.status();
  const tf::StatusPtr status = tf::NewStatus();
  tf::HandlePtr output;
  {
    capture::FunctionHost host(**recorder, kNoId, kNoId);
    const tf::OpPtr op(tf::Api().TFE_NewOp(context, "Neg", status.get()));
    if (op != nullptr) {
      TFE_TensorHandle* made = nullptr;
      int count = 1;
      tf::Api().TFE_OpAddInput(op.get(), input->get(), status.get());
      host.Execute({{}, "self_test", "Neg", {}}, op.get(), &made, &count, status.get());
      output.reset(made);
    }
  }
  const Result<std::shared_ptr<const flowscope::Trace>> trace = (*recorder)->Stop("");
  FLOWSCOPE_RETURN_IF_ERROR(tf::FromTf(status.get(), "one Neg"));
  if (!trace.ok()) return trace.status();
  if ((*trace)->info().num_executed != 1) return Internal("one Neg ran and was not recorded");
  return Status::Ok();
}

void LookAtTensorFlow(const std::string& dir, DoctorReport& report) {
  Result<TensorFlowInfo> found = FindTensorFlow(dir);
  if (!found.ok()) {
    report.problems.push_back(found.status().message());
    return;
  }
  report.tensorflow = *found;
  Result<TensorFlowInfo> loaded = LoadTensorFlow(dir);
  if (!loaded.ok()) {
    report.problems.push_back(loaded.status().message());
    return;
  }
  report.tensorflow = *loaded;
  report.missing = tf::MissingEntries();
  const Result<TFE_Context*> context = library::ProcessContext();
  const Status recorded = context.ok() ? RecordOneOp(*context) : context.status();
  report.self_test = recorded.ok() ? "ok" : recorded.message();
  if (!recorded.ok()) report.problems.push_back("recording does not work: " + recorded.message());
}

}  // namespace

DoctorReport Doctor(const std::string& tensorflow_dir) {
  DoctorReport report;
  report.flowscope_version = FLOWSCOPE_VERSION;
  report.machine = Machine();
  LookAtTensorFlow(tensorflow_dir, report);
  report.limits = {
      "tf.py_function and tf.numpy_function run Python, which is not in this process",
      "ops of other libraries need --op-library FILE",
      "lines of the user's program are not in a SavedModel: ops have none",
  };
  return report;
}

std::string ToText(const DoctorReport& report) {
  const auto line = [](std::string_view title, const std::string& text) {
    return std::string(title) + std::string(16 - title.size(), ' ') + text + "\n";
  };
  std::string text = line("flowscope", report.flowscope_version) + line("machine", report.machine);
  const TensorFlowInfo& tensorflow = report.tensorflow;
  if (!tensorflow.dir.empty()) {
    text += line("tensorflow", (tensorflow.version.empty() ? "not loaded" : tensorflow.version) +
                                   ", named by " + tensorflow.source);
    text += line("libraries", tensorflow.dir);
  }
  if (!report.self_test.empty()) text += line("self-test", report.self_test);
  for (const std::string& name : report.missing) text += line("lacks", name);
  for (const std::string& limit : report.limits) text += line("will not work", limit);
  for (const std::string& problem : report.problems) text += line("problem", problem);
  return text;
}

std::string ToJson(const DoctorReport& report) {
  using Json = nlohmann::ordered_json;
  const Json json = {{"flowscope", report.flowscope_version},
                     {"machine", report.machine},
                     {"tensorflow", report.tensorflow.version},
                     {"tensorflow_dir", report.tensorflow.dir},
                     {"tensorflow_named_by", report.tensorflow.source},
                     {"self_test", report.self_test},
                     {"lacks", report.missing},
                     {"will_not_work", report.limits},
                     {"problems", report.problems}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace flowscope::api
