#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace flowscope {
namespace {

// False where the system has no thread to give.
bool StartThread(std::vector<std::thread>& threads, const std::function<void()>& work) {
  try {
    threads.emplace_back(work);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

int ThreadsFor(size_t nbytes, int requested) {
  if (nbytes < kMinParallelBytes) return 1;
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void RunBlocks(int64_t blocks, int threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const std::function<void()> work = [&] {
    for (int64_t block = next++; block < blocks; block = next++) body(block);
  };
  std::vector<std::thread> others;
  const int64_t wanted = std::min<int64_t>(threads, blocks) - 1;
  for (int64_t i = 0; i < wanted; ++i) {
    if (!StartThread(others, work)) break;
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace flowscope
