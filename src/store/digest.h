// A hash over the rows of a table: SQLite does not notice a flipped bit.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/content_hash.h"
#include "store/sqlite.h"

namespace flowscope::store {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void Add(std::string_view row);
  // 32 hex digits.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A row as it is hashed: each cell with its type and length, so that no two run into each other.
class RowBytes {
 public:
  // Valid until the next call.
  std::string_view Of(const Cell& id, std::span<const Cell> cells);

 private:
  void Add(const Cell& cell);

  std::string bytes_;
};

// The hash of one row.
ContentKey HashOfRow(std::string_view row);

// Hashes of rows by id; what is not there is nobody's hash.
using RowHashes = std::deque<ContentKey>;

// A hash over rows of which any can be taken out again: both halves of their hashes, added up.
class RowSum {
 public:
  void Add(const ContentKey& row) {
    sum_.high += row.high;
    sum_.low += row.low;
  }
  void Remove(const ContentKey& row) {
    sum_.high -= row.high;
    sum_.low -= row.low;
  }
  std::string Hex() const { return sum_.Hex(); }

 private:
  ContentKey sum_;
};

}  // namespace flowscope::store
