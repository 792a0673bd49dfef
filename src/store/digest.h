// A hash over the rows of a table: SQLite does not notice a flipped bit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

}  // namespace flowscope::store
