// What holds for the whole process: TensorFlow's libraries, the hook, handles.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "capture/recorder.h"
#include "eager_tensor.h"
#include "errors.h"
#include "tf/hook.h"
#include "tf/missing_entries.h"

namespace nb = nanobind;

namespace flowscope::python {

void RegisterProcess(nb::module_& m) {
  m.def("load_tensorflow", [](const std::string& package_dir) {
    Check(tf::LoadCApi(package_dir));
    Check(LoadEagerTensorSymbols(package_dir));
  });
  m.def("tensorflow_loaded", &tf::ApiLoaded);
  m.def("missing_entries", &tf::MissingEntries);
  m.def("hook_lease_count", &tf::HookLeaseCount);
  m.def("hooked_slot_count", &tf::HookedSlotCount);
  m.def("hook_slots_restored", &tf::HookSlotsRestored);
  m.def("living_recorders", &capture::Recorder::NumLiving);
  m.def("is_eager_tensor", [](nb::handle object) { return HandleOf(object) != nullptr; });
}

}  // namespace flowscope::python
