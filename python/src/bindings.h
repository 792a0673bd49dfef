// One Register function per binding file; module.cc calls them in this order.
#pragma once

#include <nanobind/nanobind.h>

namespace flowscope::python {

void RegisterValues(nanobind::module_& m);
void RegisterSelectors(nanobind::module_& m);
void RegisterRecords(nanobind::module_& m);
void RegisterAccessors(nanobind::module_& m);
void RegisterTables(nanobind::module_& m);
void RegisterTrace(nanobind::module_& m);
void RegisterCallWrapper(nanobind::module_& m);
void RegisterSession(nanobind::module_& m);
void RegisterLiveStructure(nanobind::module_& m);
void RegisterSavedModel(nanobind::module_& m);
void RegisterRestoredNames(nanobind::module_& m);
void RegisterProcess(nanobind::module_& m);
void RegisterRunModel(nanobind::module_& m);
void RegisterDeclarations(nanobind::module_& m);
void RegisterStructureWatch(nanobind::module_& m);
void RegisterStore(nanobind::module_& m);

}  // namespace flowscope::python
