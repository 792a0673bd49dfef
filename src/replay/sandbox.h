// A TensorFlow context of our own, in which recorded ops run again.
//
// The user's context is not touched: it has its own kernels (whose state a stateful op moves), its
// own resources, and its own cache. What runs here is called through the C API's real functions,
// past the hook, so that nothing of it is recorded.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tf/contexts.h"
#include "tf/handles.h"

namespace flowscope::replay {

// name -> serialized AttrValue
using AttrMap = std::map<std::string, std::string>;

// Codes of TF_Code.
inline constexpr int kTfOk = 0;
inline constexpr int kTfNotFound = 5;
inline constexpr int kTfResourceExhausted = 8;
inline constexpr int kTfUnimplemented = 12;

struct Outcome {
  std::vector<tf::HandlePtr> outputs;  // must go before the sandbox
  int code = kTfOk;
  std::string message;

  bool ok() const { return code == kTfOk; }
};

// What is compared and shown of an error: its first line, 300 characters at most.
inline std::string FirstLine(const std::string& message) {
  return message.substr(0, std::min<size_t>(message.find('\n'), 300));
}

struct SandboxOptions {
  std::string config;                // serialized ConfigProto of the user's context, may be empty
  TFE_Context* functions = nullptr;  // has the functions that `bodies` lacks; null: nobody has
  // Bodies of functions that the record holds, serialized, by name. They come before those of the
  // context, where another function may have the name. What the views show must outlive the
  // sandbox.
  std::map<std::string, std::string_view> bodies;
};

// Used by one thread at a time.
class Sandbox {
 public:
  // Unavailable where TensorFlow is not loaded or makes no context.
  static Result<std::unique_ptr<Sandbox>> Make(const SandboxOptions& options);
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Attributes whose name begins with '_' are left out: eager ops take none. An empty device leaves
  // the choice to TensorFlow.
  Outcome Run(const std::string& type, const AttrMap& attrs, const std::string& device,
              std::span<TFE_TensorHandle* const> inputs, size_t max_outputs);

  // A variable without a value, and its value.
  Result<tf::HandlePtr> MakeVariable(DType dtype, const std::string& device);
  Status Assign(TFE_TensorHandle* variable, TFE_TensorHandle* value, DType dtype);
  Outcome Read(TFE_TensorHandle* variable, DType dtype);

  // Makes `function` and everything that it calls known here. NotFound where neither the record nor
  // the user's context has it; Unsupported, with the reason, where running it again would act on
  // something outside of it.
  Status AddFunction(const std::string& function);

 private:
  Sandbox(tf::ContextPtr context, const SandboxOptions& options)
      : context_(std::move(context)), functions_(options.functions), bodies_(options.bodies) {}

  Result<std::string> Definition(const std::string& function) const;
  Status Copy(const std::string& function, std::set<std::string>& seen);

  tf::ContextPtr context_;
  TFE_Context* functions_;
  std::map<std::string, std::string_view> bodies_;
  std::map<std::string, Status> added_;
  int num_variables_ = 0;
};

}  // namespace flowscope::replay
