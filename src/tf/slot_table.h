// Which import slots are redirected, and what each held before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "tf/elf_slots.h"

namespace flowscope::tf {

// The slots of a few symbols in every loaded object below one folder, across loads and unloads.
// Not thread-safe.
class SlotTable {
 public:
  struct Target {
    void* replacement = nullptr;  // null: the slots of this symbol are left alone
    void* real = nullptr;         // what the loader resolves the symbol to
  };

  // `folder` with symbolic links resolved. One target per symbol, in the same order, in every call.
  SlotTable(std::string folder, std::vector<std::string> symbols, ProtectFn protect);

  const std::string& folder() const { return folder_; }

  // Points every slot at its replacement, all or nothing; objects loaded since the last call are
  // searched too. A slot that already holds its replacement is left as it is. Unavailable where a
  // slot cannot be written; then those that this call wrote hold their former values again.
  Status Patch(std::vector<Target> targets);

  // Gives every patched slot the value it had before. One that cannot be written stays patched and
  // is tried again by the next call.
  Status Restore();

  // Slots that hold their replacement now, of one symbol or (where it is empty) of all.
  int CountPatched(std::string_view symbol = {});

  // True where every slot that was ever patched holds its replacement (only if `may_be_patched`),
  // or what it held before, or what the loader has resolved it to since.
  bool Intact(bool may_be_patched);

 private:
  struct Entry {
    ElfSlot slot;
    void* original = nullptr;  // what the slot held before it was patched
    bool patched = false;
    bool ever_patched = false;
    uint64_t round = 0;  // the Patch call that wrote it
  };
  struct Object {
    uintptr_t base = 0;
    std::string path;
    bool seen = false;
    std::vector<Entry> entries;
  };

  // Objects that the loader has loaded and unloaded since the process began.
  struct LoaderCounts {
    unsigned long long loaded = 0;
    unsigned long long unloaded = 0;
    bool operator==(const LoaderCounts&) const = default;
  };

  template <typename Function>
  void ForEachEntry(Function function);
  Object& FindObject(const dl_phdr_info& info);
  bool InFolder(const std::string& path);
  Status PatchEntry(Entry& entry);
  Status RestoreEntry(Entry& entry);
  const Target& TargetOf(const Entry& entry) const { return targets_[entry.slot.symbol]; }

  const std::string folder_;
  const std::vector<std::string> symbols_;
  const ProtectFn protect_;
  std::vector<Target> targets_;
  std::vector<Object> objects_;
  LoaderCounts counts_;  // when objects_ was last compared with what is loaded
  std::unordered_map<std::string, bool> in_folder_;
  uint64_t round_ = 0;
};

}  // namespace flowscope::tf
