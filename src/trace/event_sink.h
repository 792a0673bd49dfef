// Takes a recording while it runs, so that values need not stay in memory until it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/stats.h"
#include "base/status.h"
#include "trace/payload_source.h"
#include "trace/trace.h"

namespace flowscope {

// All calls come from the thread that records. None of them fails the run: what goes wrong is kept
// until it is asked for, and later calls do nothing.
class EventSink {
 public:
  virtual ~EventSink() = default;

  // `read` gives the value on any thread and keeps it alive; it is dropped as soon as the value is
  // taken. Waits where more bytes are pending than the sink may hold.
  using ReadValue = std::function<Result<Payload>()>;
  virtual void OnValue(TensorId tensor, int64_t nbytes, ReadValue read) = 0;
  virtual void OnStats(TensorId tensor, const Stats& stats) = 0;
  // The tables have grown. Rows of what is still going on are not filled in yet.
  virtual void OnProgress(const TraceTables& tables) = 0;

  // What went wrong so far.
  virtual Status status() const = 0;
  // The recording has ended with these tables. Where something went wrong, what is there all the
  // same.
  struct Kept {
    std::shared_ptr<const PayloadSource> payloads;  // null where nothing can be read
    std::vector<bool> has;                          // by tensor
  };
  virtual Kept Finish(const TraceTables& tables) = 0;
};

}  // namespace flowscope
