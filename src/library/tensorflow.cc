#include "flowscope/tensorflow.h"

#include <mutex>

#include "library/runtime.h"
#include "tf/contexts.h"
#include "tf/standalone.h"

namespace flowscope::api {
namespace {

struct Runtime {
  std::mutex mutex;
  TensorFlowInfo info;
  TFE_Context* context = nullptr;  // lives as long as the process: values may outlive everything
};

Runtime& TheRuntime() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

}  // namespace

Result<TensorFlowInfo> FindTensorFlow(const std::string& dir) {
  const Result<tf::TensorFlowLocation> found = tf::FindTensorFlow(dir);
  if (!found.ok()) return found.status();
  return TensorFlowInfo{found->dir, found->source, ""};
}

Result<TensorFlowInfo> LoadTensorFlow(const std::string& dir) {
  Runtime& runtime = TheRuntime();
  const std::lock_guard lock(runtime.mutex);
  if (runtime.context != nullptr) return runtime.info;
  Result<TensorFlowInfo> found = FindTensorFlow(dir);
  if (!found.ok()) return found;
  FLOWSCOPE_RETURN_IF_ERROR(tf::OpenTensorFlow(found->dir));
  Result<tf::ContextPtr> context = tf::NewContext("");
  if (!context.ok()) return context.status();
  runtime.info = std::move(found).value();
  runtime.info.version = tf::Api().TF_Version();
  runtime.context = context->release();
  return runtime.info;
}

Status LoadOpLibrary(const std::string& path) {
  if (!tf::ApiLoaded()) return FailedPrecondition("call LoadTensorFlow before LoadOpLibrary");
  return tf::LoadOpLibrary(path);
}

}  // namespace flowscope::api

namespace flowscope::library {

Result<TFE_Context*> ProcessContext() {
  const Result<api::TensorFlowInfo> loaded = api::LoadTensorFlow();
  if (!loaded.ok()) return loaded.status();
  return api::TheRuntime().context;
}

}  // namespace flowscope::library
