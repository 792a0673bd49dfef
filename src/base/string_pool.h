// Every distinct string once, known by a small number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/slot_table.h"

namespace flowscope {

// Ids count up from 0 in the order of first use; id 0 is the empty string. Views stay valid for the
// pool's life, also when it is moved. Not thread-safe.
class StringPool {
 public:
  StringPool();

  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  // The id of `text`, which is copied if it is new.
  uint32_t Intern(std::string_view text);

  // The id of `text` if it is there.
  std::optional<uint32_t> Find(std::string_view text) const;

  // The string of an id that this pool gave.
  std::string_view View(uint32_t id) const { return views_[id]; }

  // Number of distinct strings, the empty one among them.
  size_t size() const { return views_.size(); }

  // Memory held, for budgets.
  size_t nbytes() const;

  // Keeps every view that was given so far valid, whatever becomes of the pool: for a reader on
  // another thread.
  std::shared_ptr<const void> Hold() const { return blocks_; }

 private:
  std::string_view Copy(std::string_view text);

  using Blocks = std::vector<std::unique_ptr<char[]>>;

  std::vector<std::string_view> views_;  // by id
  SlotTable slots_;                      // of ids
  std::shared_ptr<Blocks> blocks_;       // what the views point into
  char* free_ = nullptr;                 // the unused rest of the last common block
  size_t free_bytes_ = 0;
  size_t block_bytes_ = 0;  // sum of the blocks
};

}  // namespace flowscope
