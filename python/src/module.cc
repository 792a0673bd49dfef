#include <cstdlib>

#include <nanobind/nanobind.h>

#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace flowscope::python;
  // At exit a user's globals can outlive this module; that is no fault worth a message.
  nanobind::set_leak_warnings(std::getenv("FLOWSCOPE_LEAK_WARNINGS") != nullptr);
  m.doc() = "FlowScope's engine. Use the flowscope package; names here are not a public interface.";
  m.attr("version") = FLOWSCOPE_VERSION;
  RegisterValues(m);
  RegisterSelectors(m);
  RegisterRecords(m);
  RegisterAccessors(m);
  RegisterTables(m);
  RegisterTrace(m);
  RegisterCallWrapper(m);
  RegisterSession(m);
  RegisterLiveStructure(m);
  RegisterSavedModel(m);
  RegisterRestoredNames(m);
  RegisterProcess(m);
  RegisterRunModel(m);
  RegisterStructureWatch(m);
  RegisterDeclarations(m);  // takes a Session
  RegisterStore(m);
}
