#include "tf/slot_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace flowscope::tf {

SlotTable::SlotTable(std::string folder, std::vector<std::string> symbols, ProtectFn protect)
    : folder_(std::move(folder)),
      symbols_(std::move(symbols)),
      protect_(protect),
      targets_(symbols_.size()) {}

// Runs under the loader's lock, so an object that is visited cannot be unmapped meanwhile. Objects
// that are gone are forgotten: their slots went with them. The loader counts what it loads and
// unloads: while the counts stand still, nobody's name is looked at. `function` returns false to
// stop.
template <typename Function>
void SlotTable::ForEachEntry(Function function) {
  bool go_on = true;
  const auto visit = [&](Object& object) {
    for (Entry& entry : object.entries) {
      if (go_on) go_on = function(entry);
    }
  };
  bool first = true;
  ForEachLoadedObject([&](const dl_phdr_info& info) {
    if (std::exchange(first, false)) {
      const LoaderCounts now{info.dlpi_adds, info.dlpi_subs};
      if (counts_ == now) {
        for (Object& object : objects_) visit(object);
        return false;
      }
      counts_ = now;
      for (Object& object : objects_) object.seen = false;
    }
    if (info.dlpi_name == nullptr || !InFolder(info.dlpi_name)) return true;
    Object& object = FindObject(info);
    object.seen = true;
    visit(object);
    return true;
  });
  std::erase_if(objects_, [](const Object& object) { return !object.seen; });
}

SlotTable::Object& SlotTable::FindObject(const dl_phdr_info& info) {
  const auto known = std::ranges::find_if(objects_, [&](const Object& object) {
    return object.base == info.dlpi_addr && object.path == info.dlpi_name;
  });
  if (known != objects_.end()) return *known;
  Object& object = objects_.emplace_back();
  object.base = info.dlpi_addr;
  object.path = info.dlpi_name;
  for (const ElfSlot& slot : FindSlots(info, symbols_)) object.entries.emplace_back().slot = slot;
  return object;
}

bool SlotTable::InFolder(const std::string& path) {
  const auto [found, is_new] = in_folder_.try_emplace(path, false);
  if (!is_new) return found->second;
  std::error_code error;
  const std::string canonical = std::filesystem::canonical(path, error).string();
  found->second = !error && canonical.starts_with(folder_ + "/");
  return found->second;
}

Status SlotTable::PatchEntry(Entry& entry) {
  const Target& target = TargetOf(entry);
  if (target.replacement == nullptr) return Status::Ok();
  void* current = ReadSlot(entry.slot.address);
  if (current == target.replacement) return Status::Ok();
  if (current != target.real) {
    // Either not resolved yet, and then the slot leads to code, or another thread is in the middle
    // of loading the object, and then the loader is still going to write the slot.
    Result<int> protection = PageProtection(current);
    if (!protection.ok() || (*protection & PROT_EXEC) == 0) return Status::Ok();
  }
  FLOWSCOPE_RETURN_IF_ERROR(WriteSlot(entry.slot, target.replacement, protect_));
  if (!entry.patched) entry.original = current;
  entry.patched = true;
  entry.ever_patched = true;
  entry.round = round_;
  return Status::Ok();
}

Status SlotTable::RestoreEntry(Entry& entry) {
  if (!entry.patched) return Status::Ok();
  FLOWSCOPE_RETURN_IF_ERROR(WriteSlot(entry.slot, entry.original, protect_));
  entry.patched = false;
  return Status::Ok();
}

Status SlotTable::Patch(std::vector<Target> targets) {
  targets_ = std::move(targets);
  ++round_;
  Status status;
  ForEachEntry([&](Entry& entry) {
    status = PatchEntry(entry);
    return status.ok();
  });
  if (status.ok()) return status;
  ForEachEntry([&](Entry& entry) {
    if (entry.round == round_) static_cast<void>(RestoreEntry(entry));
    return true;
  });
  return status;
}

Status SlotTable::Restore() {
  Status first_failure;
  ForEachEntry([&](Entry& entry) {
    Status status = RestoreEntry(entry);
    if (first_failure.ok()) first_failure = std::move(status);
    return true;
  });
  return first_failure;
}

int SlotTable::CountPatched(std::string_view symbol) {
  int count = 0;
  ForEachEntry([&](Entry& entry) {
    const bool wanted = symbol.empty() || symbols_[entry.slot.symbol] == symbol;
    const bool holds = entry.patched && ReadSlot(entry.slot.address) == TargetOf(entry).replacement;
    count += wanted && holds ? 1 : 0;
    return true;
  });
  return count;
}

bool SlotTable::Intact(bool may_be_patched) {
  bool intact = true;
  ForEachEntry([&](Entry& entry) {
    if (!entry.ever_patched) return true;
    void* current = ReadSlot(entry.slot.address);
    if (entry.patched) {
      intact = intact && may_be_patched && current == TargetOf(entry).replacement;
    } else {
      intact = intact && (current == entry.original || current == TargetOf(entry).real);
    }
    return true;
  });
  return intact;
}

}  // namespace flowscope::tf
