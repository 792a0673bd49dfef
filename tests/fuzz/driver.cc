// Runs a fuzz target without libFuzzer: mutations of well-formed files, the same for one seed in
// every run.
//
// FLOWSCOPE_FUZZ_RUNS (20000) mutations from FLOWSCOPE_FUZZ_SEED (1); with FLOWSCOPE_FUZZ_FIRST the
// first ones are left out, and FLOWSCOPE_FUZZ_TELL=1 names each before it is tried, so that the
// last one named is the one that crashed. With arguments it runs those files instead, such as what
// a fuzzer has found.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace flowscope::fuzz {
namespace {

bool Try(const std::string& bytes) {
  // A copy of its own, so that a read beyond its end is one beyond an allocation.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  return TryBytes({reinterpret_cast<const char*>(copy.data()), copy.size()});
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint64_t seed) : seeds_(seeds), random_(seed) {}

  // Flips, cuts, repeats and splices, a few at a time.
  std::string Next() {
    std::string bytes = seeds_[Below(seeds_.size())];
    for (size_t i = Below(6) + 1; i > 0 && !bytes.empty(); --i) Change(bytes);
    return bytes;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void Change(std::string& bytes) {
    const size_t at = Below(bytes.size());
    switch (Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        bytes.erase(at, Below(16) + 1);
        break;
      case 2:
        bytes.insert(at, bytes.substr(Below(bytes.size()), Below(24)));
        break;
      case 3: {
        const std::string& other = seeds_[Below(seeds_.size())];
        bytes.insert(at, other.substr(Below(other.size()), Below(40)));
        break;
      }
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

int RunFiles(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", names[i]);
      return 1;
    }
    Try({std::istreambuf_iterator<char>(file), {}});
  }
  return 0;
}

int RunMutations() {
  const uint64_t runs = Number("FLOWSCOPE_FUZZ_RUNS", 20'000);
  const uint64_t first = Number("FLOWSCOPE_FUZZ_FIRST", 0);
  const uint64_t seed = Number("FLOWSCOPE_FUZZ_SEED", 1);
  const bool tells = Number("FLOWSCOPE_FUZZ_TELL", 0) != 0;
  const std::vector<std::string> seeds = Seeds();
  for (const std::string& bytes : seeds) {
    if (Try(bytes)) continue;
    std::fprintf(stderr, "a file that is well-formed was refused\n");
    return 1;
  }
  uint64_t read = 0;
  for (uint64_t run = first; run < runs; ++run) {
    // Each has a generator of its own, so that any one can be run again alone.
    const std::string bytes = Mutator(seeds, seed * 1'000'003 + run).Next();
    if (tells) std::fprintf(stderr, "mutation %llu\n", static_cast<unsigned long long>(run));
    read += Try(bytes) ? 1 : 0;
  }
  std::printf("seed %llu: %llu mutations, %llu of them read\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(runs - first),
              static_cast<unsigned long long>(read));
  // Both kinds are met: what is read goes through all views, and what is cut off is refused.
  const uint64_t tried = runs - std::min(first, runs);
  return tried >= 1000 && (read == 0 || read == tried) ? 1 : 0;
}

}  // namespace
}  // namespace flowscope::fuzz

int main(int count, char** names) {
  return count > 1 ? flowscope::fuzz::RunFiles(count, names) : flowscope::fuzz::RunMutations();
}
