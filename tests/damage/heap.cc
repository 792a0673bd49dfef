#include "damage/heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLOWSCOPE_COUNTS_HEAP 0
#elif defined(__GLIBC__)
#define FLOWSCOPE_COUNTS_HEAP 1
#else
#define FLOWSCOPE_COUNTS_HEAP 0
#endif

namespace flowscope::damage {
namespace {

std::atomic<size_t> now{0};
std::atomic<size_t> peak{0};

#if FLOWSCOPE_COUNTS_HEAP
void Took(void* memory) {
  if (memory == nullptr) return;
  const size_t bytes = now += ::malloc_usable_size(memory);
  if (bytes > peak) peak = bytes;
}

void Gives(void* memory) {
  if (memory != nullptr) now -= ::malloc_usable_size(memory);
}
#endif

}  // namespace

bool HeapIsCounted() { return FLOWSCOPE_COUNTS_HEAP != 0; }
size_t HeapNow() { return now; }
size_t HeapPeak() { return peak; }
void ResetPeak() { peak = now.load(); }

}  // namespace flowscope::damage

#if FLOWSCOPE_COUNTS_HEAP
// Libraries are to find them.
#define FLOWSCOPE_SEEN __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* memory);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

FLOWSCOPE_SEEN void* malloc(size_t size) noexcept {
  void* memory = __libc_malloc(size);
  flowscope::damage::Took(memory);
  return memory;
}

FLOWSCOPE_SEEN void free(void* memory) noexcept {
  flowscope::damage::Gives(memory);
  __libc_free(memory);
}

FLOWSCOPE_SEEN void* calloc(size_t count, size_t size) noexcept {
  void* memory = __libc_calloc(count, size);
  flowscope::damage::Took(memory);
  return memory;
}

FLOWSCOPE_SEEN void* realloc(void* memory, size_t size) noexcept {
  flowscope::damage::Gives(memory);
  void* moved = __libc_realloc(memory, size);
  flowscope::damage::Took(moved != nullptr || size == 0 ? moved : memory);
  return moved;
}

FLOWSCOPE_SEEN void* aligned_alloc(size_t alignment, size_t size) noexcept {
  void* memory = __libc_memalign(alignment, size);
  flowscope::damage::Took(memory);
  return memory;
}

FLOWSCOPE_SEEN void* memalign(size_t alignment, size_t size) noexcept {
  return aligned_alloc(alignment, size);
}

FLOWSCOPE_SEEN int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = aligned_alloc(alignment, size);
  return *memory == nullptr ? 12 : 0;
}
}
#endif
