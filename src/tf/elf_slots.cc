#include "tf/elf_slots.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>

namespace flowscope::tf {
namespace {

static_assert(sizeof(void*) == 8, "relocations are read as ELF64");

bool IsImport(uint64_t relocation_type) {
#if defined(__x86_64__)
  return relocation_type == R_X86_64_JUMP_SLOT || relocation_type == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
  return relocation_type == R_AARCH64_JUMP_SLOT || relocation_type == R_AARCH64_GLOB_DAT;
#else
  static_cast<void>(relocation_type);
  return false;
#endif
}

std::span<const ElfW(Phdr)> ProgramHeaders(const dl_phdr_info& object) {
  return {object.dlpi_phdr, object.dlpi_phnum};
}

// glibc stores absolute addresses into a writable dynamic section, and leaves offsets in one that
// is read-only.
template <typename T>
const T* DynamicPointer(const dl_phdr_info& object, ElfW(Addr) value) {
  const ElfW(Addr) absolute = value < object.dlpi_addr ? object.dlpi_addr + value : value;
  return reinterpret_cast<const T*>(absolute);
}

struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  std::span<const ElfW(Rela)> plt;
  std::span<const ElfW(Rela)> other;
};

DynamicTables ReadDynamic(const dl_phdr_info& object, const ElfW(Dyn) * dynamic) {
  DynamicTables tables;
  const ElfW(Rela)* plt = nullptr;
  const ElfW(Rela)* other = nullptr;
  size_t plt_bytes = 0;
  size_t other_bytes = 0;
  bool plt_is_rela = false;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const ElfW(Addr) value = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        tables.symbols = DynamicPointer<ElfW(Sym)>(object, value);
        break;
      case DT_STRTAB:
        tables.strings = DynamicPointer<char>(object, value);
        break;
      case DT_JMPREL:
        plt = DynamicPointer<ElfW(Rela)>(object, value);
        break;
      case DT_RELA:
        other = DynamicPointer<ElfW(Rela)>(object, value);
        break;
      case DT_PLTRELSZ:
        plt_bytes = value;
        break;
      case DT_RELASZ:
        other_bytes = value;
        break;
      case DT_PLTREL:
        plt_is_rela = value == DT_RELA;
        break;
      default:
        break;
    }
  }
  if (plt != nullptr && plt_is_rela) tables.plt = {plt, plt_bytes / sizeof(*plt)};
  if (other != nullptr) tables.other = {other, other_bytes / sizeof(*other)};
  return tables;
}

const ElfW(Dyn) * FindDynamic(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & header : ProgramHeaders(object)) {
    if (header.p_type == PT_DYNAMIC) {
      return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
    }
  }
  return nullptr;
}

uintptr_t PageSize() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Whole pages are protected, so a slot beside the region counts too.
bool InRelro(const dl_phdr_info& object, uintptr_t address) {
  const uintptr_t page = address & ~(PageSize() - 1);
  for (const ElfW(Phdr) & header : ProgramHeaders(object)) {
    if (header.p_type != PT_GNU_RELRO) continue;
    const uintptr_t begin = object.dlpi_addr + header.p_vaddr;
    if (page + PageSize() > begin && page < begin + header.p_memsz) return true;
  }
  return false;
}

size_t IndexOf(const char* name, const std::vector<std::string>& symbols) {
  size_t index = 0;
  // Stops at the first letter nearly always; mangled names are long.
  while (index < symbols.size() && std::strcmp(symbols[index].c_str(), name) != 0) ++index;
  return index;
}

void CollectSlots(const dl_phdr_info& object, const DynamicTables& tables,
                  std::span<const ElfW(Rela)> relocations, const std::vector<std::string>& symbols,
                  std::vector<ElfSlot>& slots) {
  for (const ElfW(Rela) & relocation : relocations) {
    if (!IsImport(ELF64_R_TYPE(relocation.r_info))) continue;
    const ElfW(Sym) & symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
    const size_t index = IndexOf(tables.strings + symbol.st_name, symbols);
    if (index == symbols.size()) continue;
    const uintptr_t address = object.dlpi_addr + relocation.r_offset;
    ElfSlot& slot = slots.emplace_back();
    slot.address = reinterpret_cast<void**>(address);
    slot.symbol = index;
    slot.guarded = InRelro(object, address);
  }
}

// Reading the map takes a millisecond in a process of TensorFlow's size, so it is done once for a
// page that is read-only already. An object that is still being loaded is asked again later.
void NoteProtection(std::vector<ElfSlot>& slots) {
  for (ElfSlot& slot : slots) {
    if (!slot.guarded) continue;
    Result<int> protection = PageProtection(slot.address);
    if (protection.ok() && (*protection & PROT_WRITE) == 0) slot.protection = *protection;
  }
}

// A page that we may write because we asked for it; the former protection comes back at the end.
class WritablePage {
 public:
  WritablePage(const ElfSlot& slot, ProtectFn protect)
      : page_(
            reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot.address) & ~(PageSize() - 1))),
        protect_(protect),
        former_(slot.protection) {}

  Status Open() {
    if (!former_) {
      Result<int> protection = PageProtection(page_);
      if (!protection.ok()) return Unavailable(protection.status().message());
      former_ = *protection;
    }
    if ((*former_ & PROT_WRITE) != 0) return Status::Ok();
    if (protect_(page_, PageSize(), *former_ | PROT_WRITE) != 0) {
      return Unavailable(
          std::string("a page of TensorFlow's import table cannot be made writable: ") +
          std::strerror(errno));
    }
    opened_ = true;
    return Status::Ok();
  }

  // The slot is written by then, and a page that stays writable does no harm: no failure to report.
  ~WritablePage() {
    if (opened_) protect_(page_, PageSize(), *former_);
  }

  WritablePage(const WritablePage&) = delete;
  WritablePage& operator=(const WritablePage&) = delete;

 private:
  void* page_;
  ProtectFn protect_;
  std::optional<int> former_;
  bool opened_ = false;
};

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  int protection = 0;
};

// "7f00-7f10 r-xp ...", the start of a line of /proc/self/maps.
std::optional<Mapping> ParseMapping(const std::string& line) {
  constexpr int kHex = 16;
  Mapping mapping;
  const char* const last = line.data() + line.size();
  const char* at = std::from_chars(line.data(), last, mapping.begin, kHex).ptr;
  if (at == last || *at != '-') return {};
  at = std::from_chars(at + 1, last, mapping.end, kHex).ptr;
  if (last - at < 4) return {};
  mapping.protection = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
                       (at[3] == 'x' ? PROT_EXEC : 0);
  return mapping;
}

}  // namespace

void ForEachLoadedObject(const std::function<bool(const dl_phdr_info&)>& visit) {
  auto* context = const_cast<std::function<bool(const dl_phdr_info&)>*>(&visit);
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* function) {
        return (*static_cast<std::function<bool(const dl_phdr_info&)>*>(function))(*info) ? 0 : 1;
      },
      context);
}

std::vector<ElfSlot> FindSlots(const dl_phdr_info& object,
                               const std::vector<std::string>& symbols) {
  std::vector<ElfSlot> slots;
  const ElfW(Dyn)* dynamic = FindDynamic(object);
  if (dynamic == nullptr) return slots;
  const DynamicTables tables = ReadDynamic(object, dynamic);
  if (tables.symbols == nullptr || tables.strings == nullptr) return slots;
  CollectSlots(object, tables, tables.plt, symbols, slots);
  CollectSlots(object, tables, tables.other, symbols, slots);
  NoteProtection(slots);
  return slots;
}

void* ReadSlot(void* const* address) {
  return std::atomic_ref<void*>(*const_cast<void**>(address)).load(std::memory_order_acquire);
}

Status WriteSlot(const ElfSlot& slot, void* value, ProtectFn protect) {
  WritablePage page(slot, protect);
  if (slot.guarded) FLOWSCOPE_RETURN_IF_ERROR(page.Open());
  std::atomic_ref<void*>(*slot.address).store(value, std::memory_order_release);
  return Status::Ok();
}

Result<int> PageProtection(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  if (!maps) return IoError("cannot read /proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::optional<Mapping> mapping = ParseMapping(line);
    if (mapping && wanted >= mapping->begin && wanted < mapping->end) return mapping->protection;
  }
  return NotFound("no mapping holds the address");
}

}  // namespace flowscope::tf
