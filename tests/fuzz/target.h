// What a fuzz target gives: tests/fuzz/driver.cc runs it on mutations, libFuzzer on what it finds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowscope::fuzz {

// Any bytes: read or refused, and nothing else. Aborts where a promise is broken. True where they
// were read.
bool TryBytes(std::string_view bytes);

// Well-formed files to begin with; each is read.
std::vector<std::string> Seeds();

}  // namespace flowscope::fuzz
