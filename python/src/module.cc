#include <nanobind/nanobind.h>

#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace flowscope::python;
  m.doc() = "FlowScope's engine. Use the flowscope package; names here are not a public interface.";
  m.attr("__version__") = FLOWSCOPE_VERSION;
  RegisterValues(m);
  RegisterSelectors(m);
  RegisterRecords(m);
  RegisterAccessors(m);
  RegisterTables(m);
  RegisterTrace(m);
  RegisterCallWrapper(m);
  RegisterSession(m);
  RegisterProcess(m);
}
