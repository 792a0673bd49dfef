#include "store/process.h"

#include <pthread.h>

#include <atomic>

namespace flowscope::store {
namespace {

std::atomic<uint64_t>& Generation() {
  static std::atomic<uint64_t> generation{0};
  return generation;
}

void CountFork() { Generation().fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint64_t ProcessGeneration() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &CountFork);
  (void)registered;
  return Generation().load(std::memory_order_relaxed);
}

}  // namespace flowscope::store
