#include "interp/interpreter.h"

#include <mutex>
#include <thread>
#include <utility>

#include "interp/machine.h"
#include "interp/plan_cache.h"
#include "interp/program.h"

namespace flowscope::interp {
namespace {

constexpr int kFailedPrecondition = 9;

}  // namespace

std::shared_ptr<PlanCache> NewPlanCache() { return std::make_shared<PlanCache>(); }

// What WhyRefused has found out, for the Run that follows it on the same thread: to ask TensorFlow
// for all definitions again would cost as much as running a small function.
struct Prepared {
  std::thread::id thread;
  TFE_Context* context = nullptr;
  std::string function;
  std::string definition;
  std::shared_ptr<const Program> program;
};

struct Interpreter::State {
  std::shared_ptr<PlanCache> plans;
  InterpretOptions options;
  std::mutex mutex;
  Prepared prepared;

  std::shared_ptr<const Program> Build(TFE_Context* context, const std::string& function,
                                       const std::string& definition) const {
    return std::make_shared<const Program>(
        BuildProgram(*plans, context, function, options.interpret_random, definition));
  }

  // What was prepared is used up: a definition may be another one the next time.
  std::shared_ptr<const Program> Take(TFE_Context* context, const std::string& function,
                                      const std::string& definition) {
    {
      const std::lock_guard lock(mutex);
      const bool fits = prepared.program != nullptr && prepared.context == context &&
                        prepared.function == function && prepared.definition == definition &&
                        prepared.thread == std::this_thread::get_id();
      if (fits) return std::exchange(prepared.program, nullptr);
    }
    return Build(context, function, definition);
  }
};

Interpreter::Interpreter(std::shared_ptr<PlanCache> plans, InterpretOptions options)
    : state_(std::make_unique<State>()) {
  state_->plans = std::move(plans);
  state_->options = options;
}

Interpreter::~Interpreter() = default;

Interpreter::Findings Interpreter::Examine(TFE_Context* context, const std::string& function,
                                           const std::string& definition) {
  std::shared_ptr<const Program> program = state_->Build(context, function, definition);
  Findings findings{program->refused, program->effect, program->compiled_by_xla};
  if (program->refused) return findings;
  const std::lock_guard lock(state_->mutex);
  state_->prepared = {std::this_thread::get_id(), context, function, definition,
                      std::move(program)};
  return findings;
}

std::optional<std::string> Interpreter::WhyRefused(TFE_Context* context,
                                                   const std::string& function) {
  return Examine(context, function).refused;
}

std::vector<tf::HandlePtr> Interpreter::Run(TFE_Context* context, const std::string& function,
                                            std::span<TFE_TensorHandle* const> args, Host& host,
                                            TF_Status* status, const std::string& definition) {
  const std::shared_ptr<const Program> program = state_->Take(context, function, definition);
  if (program->refused) {
    tf::Api().TF_SetStatus(status, kFailedPrecondition, program->refused->c_str());
    return {};
  }
  HeldHandles values = Machine(*program, context, host, status).Run(args);
  std::vector<tf::HandlePtr> results;
  for (HeldHandle& value : values) results.emplace_back(value.release());
  return results;
}

}  // namespace flowscope::interp
