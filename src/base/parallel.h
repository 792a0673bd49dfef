// Work on numbered blocks, spread over threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace flowscope {

// Below this many bytes starting a thread costs more than it saves.
inline constexpr size_t kMinParallelBytes = size_t{4} << 20;

// Threads to use for `nbytes` of work: 1 for little work, else `requested`, or as many as the
// machine has when that is not positive.
int ThreadsFor(size_t nbytes, int requested);

// Calls body(0) ... body(blocks - 1), each once, from up to `threads` threads, the calling one
// among them, and returns when all are done. Blocks are handed out in ascending order: when block k
// starts, every block before it has started. Where the system refuses a thread the work is done by
// those there are. `body` must not throw.
void RunBlocks(int64_t blocks, int threads, const std::function<void(int64_t)>& body);

}  // namespace flowscope
