#include "base/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace flowscope {
namespace {

std::vector<int> CallsPerBlock(int64_t blocks, int threads) {
  std::vector<std::atomic<int>> calls(static_cast<size_t>(blocks));
  RunBlocks(blocks, threads, [&](int64_t block) { ++calls[static_cast<size_t>(block)]; });
  return {calls.begin(), calls.end()};
}

TEST(ParallelTest, RunsEveryBlockOnce) {
  for (int threads : {-1, 0, 1, 2, 5, 40}) {
    EXPECT_EQ(CallsPerBlock(17, threads), std::vector<int>(17, 1)) << threads << " threads";
  }
}

TEST(ParallelTest, NoBlocksNoCalls) {
  RunBlocks(0, 4, [](int64_t block) { ADD_FAILURE() << "called for block " << block; });
}

TEST(ParallelTest, OneThreadWorksInOrderOnTheCallingThread) {
  std::vector<int64_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  RunBlocks(4, 1, [&](int64_t block) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(block);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(ParallelTest, BlocksRunAtTheSameTimeOnSeveralThreads) {
  std::atomic<int> arrived{0};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  RunBlocks(3, 3, [&](int64_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3u);
}

TEST(ParallelTest, LittleWorkGetsOneThread) {
  EXPECT_EQ(ThreadsFor(kMinParallelBytes - 1, 8), 1);
  EXPECT_EQ(ThreadsFor(kMinParallelBytes, 8), 8);
  EXPECT_GE(ThreadsFor(kMinParallelBytes, 0), 1);
}

}  // namespace
}  // namespace flowscope
