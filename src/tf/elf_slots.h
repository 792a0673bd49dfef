// Import slots of loaded ELF objects.
//
// A call into another shared library goes through a pointer that the loader fills in (relocations
// JUMP_SLOT and GLOB_DAT). Writing such a slot redirects the calls of that one object.
#pragma once

#include <link.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace flowscope::tf {

struct ElfSlot {
  void** address = nullptr;
  size_t symbol = 0;     // index into the symbols asked for
  bool guarded = false;  // lies where the loader takes write permission away (PT_GNU_RELRO)
  // Of a guarded slot's page, once the loader has taken the permission away; else not known.
  std::optional<int> protection;
};

// Calls `visit` for every object in this process until it returns false. The loader's lock is held
// meanwhile: nothing is loaded or unloaded, and `visit` must not load anything itself.
void ForEachLoadedObject(const std::function<bool(const dl_phdr_info&)>& visit);

// Every slot through which the object uses one of `symbols`, also where it defines the symbol
// itself. Empty on machines other than x86-64 and aarch64.
std::vector<ElfSlot> FindSlots(const dl_phdr_info& object, const std::vector<std::string>& symbols);

void* ReadSlot(void* const* address);

// As ::mprotect; tests pass one that fails.
using ProtectFn = int (*)(void* page, size_t length, int protection);

// Writes a slot in one store. Where the slot is guarded its page is made writable for that and then
// given back the protection it had. Unavailable where that cannot be done; then nothing changed.
Status WriteSlot(const ElfSlot& slot, void* value, ProtectFn protect);

// The PROT_ bits of the mapping that holds `address`; NotFound where there is none.
Result<int> PageProtection(const void* address);

}  // namespace flowscope::tf
