// A hash over the rows of a table: SQLite does not notice a flipped bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/content_hash.h"
#include "store/sqlite.h"

namespace flowscope::store {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  // Each cell with its type and length, so that no two rows run into each other.
  void Add(const Cell& cell);
  // 32 hex digits.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The hash of one row, from cells in the same form.
class RowHasher {
 public:
  ContentKey Hash(const Cell& id, std::span<const Cell> cells);

 private:
  std::string bytes_;
};

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
