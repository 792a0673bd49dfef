#include "session.h"

#include "body_origins.h"
#include "errors.h"
#include "frames.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

constexpr size_t kMaxArgumentText = 400;

// The arguments that are not tensors, as text: "training=True, axis=-1".
std::string DescribeArguments(nb::handle kwargs) {
  std::string text;
  for (auto [key, value] : nb::borrow<nb::dict>(kwargs)) {
    PyObject* p = value.ptr();
    const bool plain = p == Py_None || PyBool_Check(p) || PyLong_Check(p) || PyFloat_Check(p) ||
                       PyUnicode_Check(p);
    if (!plain) continue;
    if (!text.empty()) text += ", ";
    text += nb::cast<std::string>(key) + "=" + nb::cast<std::string>(nb::repr(value));
    if (text.size() > kMaxArgumentText) break;
  }
  return text;
}

NamedHandles CallTensors(nb::handle args, nb::handle kwargs, std::vector<nb::object>& keep_alive) {
  NamedHandles found;
  size_t index = 0;
  for (nb::handle item : args) {
    CollectTensors(item, "args[" + std::to_string(index++) + "]", found, keep_alive);
  }
  if (kwargs.ptr() != nullptr) {
    for (auto [key, value] : nb::borrow<nb::dict>(kwargs)) {
      CollectTensors(value, nb::cast<std::string>(key), found, keep_alive);
    }
  }
  return found;
}

}  // namespace

Session* Session::Current() {
  const capture::Recorder* recorder = capture::Recorder::Current();
  return recorder == nullptr ? nullptr : static_cast<Session*>(recorder->owner());
}

Session::Session(capture::RecordOptions options, std::vector<std::string> library_prefixes,
                 bool callbacks, nb::object new_module, nb::object executing_eagerly,
                 nb::object bodies)
    : options_(std::move(options)),
      call_sites_(std::make_shared<FrameSites>(std::move(library_prefixes))),
      callbacks_(callbacks),
      new_module_(std::move(new_module)),
      executing_eagerly_(std::move(executing_eagerly)),
      bodies_(std::move(bodies)) {
  if (!bodies_.is_none()) {
    options_.body_origins =
        std::make_shared<PythonBodyOrigins>(bodies_.attr("describe"), call_sites_);
  }
}

// Started and never stopped: the block that should have ended it is gone, such as a generator's.
Session::~Session() { capture::Recorder::Abandon(std::move(recorder_)); }

void Session::Start() {
  // Lets go of what an abandoned recording of this thread holds: see TraceToPython.
  recorder_ = Unwrap([this] {
    const nb::gil_scoped_release released;
    return capture::Recorder::Start(options_, call_sites_, callbacks_);
  }());
  recorder_->set_owner(this);
}

std::shared_ptr<const Trace> Session::Stop(const std::string& error) {
  if (recorder_ == nullptr) Check(FailedPrecondition("this recording was never started"));
  std::shared_ptr<const Trace> trace = Unwrap(recorder_->Stop(error));
  stopped_ = true;
  {
    const nb::gil_scoped_release released;  // handles that are not in the trace go here
    recorder_.reset();
  }
  // The callbacks belong to the Python object that holds this session: the circle is opened here.
  new_module_.reset();
  executing_eagerly_.reset();
  bodies_ = nb::none();
  options_ = {};
  ids_ = {};
  modules_.clear();
  for (Frame& frame : frames_) Py_XDECREF(frame.traced);
  frames_.clear();
  return trace;
}

ModuleId Session::DeclareModule(nb::object module, const std::vector<std::string>& addresses,
                                const std::string& class_name, const std::string& name,
                                const std::string& config, ModuleId parent, int64_t num_params,
                                int64_t num_trainable) {
  const ModuleId id = recorder_->DeclareModule(addresses, class_name, name, config, parent,
                                               num_params, num_trainable);
  ids_.TryEmplace(module.ptr(), id);
  modules_.push_back(std::move(module));
  return id;
}

void Session::AliasModule(nb::object module, ModuleId id) {
  ids_.TryEmplace(module.ptr(), id);
  modules_.push_back(std::move(module));
}

bool Session::Eager() const { return nb::cast<bool>(executing_eagerly_()); }

// A module that discovery did not meet, such as a layer made inside call: Python names it.
ModuleId Session::IdOf(nb::handle module) {
  if (const ModuleId* known = ids_.Find(module.ptr())) return *known;
  const ModuleCallId open = recorder_->current_module_call();
  const int64_t parent = open == kNoId ? -1 : recorder_->module_of_call(open);
  const auto id = nb::cast<int64_t>(
      new_module_(module, parent, open == kNoId ? -1 : static_cast<int64_t>(open)));
  return id < 0 ? kNoId : static_cast<ModuleId>(id);
}

bool Session::EnterCall(bool eager, nb::handle module, const void* wrapper, nb::handle args,
                        nb::handle kwargs, const char* method) {
  if (!frames_.empty()) {
    const Frame& top = frames_.back();
    if (top.module == module.ptr() && top.body == nullptr && top.wrapper != wrapper) return false;
  }
  if (!eager) return EnterTracedCall(module, wrapper, args, kwargs, method);
  const ModuleId id = IdOf(module);
  if (id == kNoId) return false;
  const ModuleCallId call = recorder_->OpenModuleCall(id, method);
  frames_.push_back({module.ptr(), wrapper, call});
  std::vector<nb::object> keep_alive;
  recorder_->SetModuleCallInputs(call, CallTensors(args, kwargs, keep_alive));
  if (kwargs.ptr() != nullptr) {
    recorder_->SetModuleCallArguments(call, DescribeArguments(kwargs));
  }
  return true;
}

nb::object Session::Callee(bool eager, nb::handle module, nb::handle method) {
  if (bodies_.is_none() || eager) return nb::borrow(method);
  return bodies_.attr("converted")(module, method);
}

bool Session::EnterTracedCall(nb::handle module, const void* wrapper, nb::handle args,
                              nb::handle kwargs, const char* method) {
  if (bodies_.is_none()) return false;
  const nb::object named = kwargs.ptr() == nullptr ? nb::object(nb::dict()) : nb::borrow(kwargs);
  nb::object traced = bodies_.attr("enter")(module, args, named, method, DescribeArguments(named));
  if (traced.is_none()) return false;
  Frame frame{module.ptr(), wrapper, kNoId};
  frame.traced = traced.release().ptr();
  frames_.push_back(frame);
  return true;
}

void Session::ExitTracedCall(const Frame& frame, nb::handle result, bool failed) {
  const nb::object traced = nb::steal(frame.traced);
  nb::object given = nb::none();
  if (!failed) given = nb::borrow(result);
  bodies_.attr("exit")(traced, given);
}

void Session::ExitCall(nb::handle result, bool failed) {
  if (frames_.empty()) return;  // the recording that entered ended inside of the call
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.traced != nullptr) return ExitTracedCall(frame, result, failed);
  if (!failed) {
    NamedHandles found;
    std::vector<nb::object> keep_alive;
    CollectTensors(result, "output", found, keep_alive);
    recorder_->SetModuleCallOutputs(frame.call, found);
  }
  recorder_->CloseModuleCall(frame.call, failed);
}

bool Session::EnterBody(bool eager, nb::handle module, const void* wrapper, nb::handle training) {
  // A body that is traced into a graph is not a run of it, but says who asks for the graph's ops.
  if (bodies_.is_none() && !eager) return true;
  if (frames_.empty()) return false;
  Frame& top = frames_.back();
  // Keras builds a model by tracing its `call`, and runs it after that: one call of the model.
  const bool traced_by_run = !eager && top.traced == nullptr;
  const void*& body = traced_by_run ? top.body_in_graph : top.body;
  if (top.module != module.ptr() || body == wrapper) return false;
  if (body != nullptr) return true;  // a base class's call, as part of this one
  body = wrapper;
  if (top.traced != nullptr) {
    nb::object text = nb::none();
    if (training.ptr() != nullptr) text = nb::repr(training);
    nb::handle(top.traced).attr("body")(text);
  } else if (training.ptr() != nullptr) {
    recorder_->SetModuleCallTraining(top.call, nb::cast<std::string>(nb::repr(training)));
  }
  return true;
}

}  // namespace flowscope::python
