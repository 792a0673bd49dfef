// One recording as Python drives it: the recorder plus what only Python objects can tell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/pointer_map.h"
#include "capture/recorder.h"
#include "eager_tensor.h"

namespace flowscope::python {

// The engine's options from those that flowscope._runtime has collected.
capture::RecordOptions OptionsFrom(const nanobind::dict& values);

class Session {
 public:
  Session(capture::RecordOptions options, std::vector<std::string> library_prefixes, bool callbacks,
          nanobind::object new_module, nanobind::object executing_eagerly, nanobind::object bodies);

  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The session of the calling thread, null where there is none.
  static Session* Current();

  capture::Recorder& recorder() { return *recorder_; }
  // What takes the recording while it runs; null where nothing does.
  EventSink* sink() { return options_.sink.get(); }

  void Start();
  std::shared_ptr<const Trace> Stop(const std::string& error);

  // Modules are told by object identity; the session keeps each alive.
  ModuleId DeclareModule(nanobind::object module, const std::vector<std::string>& addresses,
                         const std::string& class_name, const std::string& name,
                         const std::string& config, ModuleId parent, int64_t num_params,
                         int64_t num_trainable);
  int64_t KnownId(nanobind::handle module) const {
    const ModuleId* id = ids_.Find(module.ptr());
    return id == nullptr ? -1 : static_cast<int64_t>(*id);
  }
  // Another object that stands for a module that is declared already.
  void AliasModule(nanobind::object module, ModuleId id);

  // A module call between its wrapper's entry and exit. `wrapper` tells a class's own __call__ from
  // that of a base class that runs as part of it.
  struct Frame {
    PyObject* module;
    const void* wrapper;
    ModuleCallId call;
    PyObject* traced = nullptr;  // owned: the call, where it is traced into a graph
    const void* body = nullptr;  // wrapper of the `call` method that was entered, null before
    const void* body_in_graph = nullptr;  // the same, of one that a call which runs had traced
  };
  // Whether ops run now, rather than stand in a graph that is built. Asks TensorFlow.
  bool Eager() const;
  // False where this entry is part of the call on top, or nothing is to be recorded.
  bool EnterCall(bool eager, nanobind::handle module, const void* wrapper, nanobind::handle args,
                 nanobind::handle kwargs, const char* method);
  void ExitCall(nanobind::handle result, bool failed);
  // What to call for a module's method: while a graph is built, the method as AutoGraph would.
  nanobind::object Callee(bool eager, nanobind::handle module, nanobind::handle method);
  // The top call's body begins, with this value of its `training` argument (null: it has none).
  // False where the top call is another module's, or this body already runs (recursion).
  bool EnterBody(bool eager, nanobind::handle module, const void* wrapper,
                 nanobind::handle training);

  nanobind::object bodies() const { return bodies_; }
  bool recording() const { return recorder_ != nullptr && !stopped_; }

 private:
  ModuleId IdOf(nanobind::handle module);
  bool EnterTracedCall(nanobind::handle module, const void* wrapper, nanobind::handle args,
                       nanobind::handle kwargs, const char* method);
  void ExitTracedCall(const Frame& frame, nanobind::handle result, bool failed);

  capture::RecordOptions options_;
  std::shared_ptr<capture::CallSiteProvider> call_sites_;
  bool callbacks_ = false;
  nanobind::object new_module_;
  nanobind::object executing_eagerly_;
  nanobind::object bodies_;  // _bodies.Bodies of the recording, or None
  std::shared_ptr<capture::Recorder> recorder_;
  PointerMap<ModuleId> ids_;
  std::vector<nanobind::object> modules_;
  std::vector<Frame> frames_;
  bool stopped_ = false;
};

}  // namespace flowscope::python
