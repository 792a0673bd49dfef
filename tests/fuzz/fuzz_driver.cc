// Runs the fuzz target of function definitions without libFuzzer: a fixed number of mutations of
// well-formed definitions, from a seed that is printed. With arguments it runs those files instead,
// such as what a fuzzer has found.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fake_runtime/function_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace flowscope::fake {
namespace {

void Try(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::vector<std::string> Seeds() {
  const std::string types = TypesAttr({DType::kFloat32});
  FunctionWriter straight("straight");
  straight.Arg("x").Const("c", 2).Node("sum", "AddV2", {"x", "c:output:0"});
  straight.Node("neg", "Neg", {"sum:z:0", "^sum"}).Returns("y", "neg:y:0");
  FunctionWriter branch("branch");
  branch.Arg("p", DType::kBool).Arg("x");
  branch.Node("cond", "If", {"p", "x"},
              {{"Tcond", TypeAttr(DType::kBool)},
               {"Tin", types},
               {"Tout", types},
               {"then_branch", FuncAttr("branch")},
               {"else_branch", BoundFuncAttr("straight", {{"T", TypeAttr(DType::kFloat32)}})}});
  branch.Returns("r", "cond:output:0");
  FunctionWriter loop("loop");
  loop.Arg("x").Node("while", "While", {"x"},
                     {{"T", types}, {"cond", FuncAttr("straight")}, {"body", FuncAttr("loop")}});
  loop.Returns("r", "while:output:0").ControlReturns("while").Stateful();
  FunctionWriter lists("lists");
  lists.ListArg("xs", "N").Attr("N", PlaceholderAttr("N"));
  lists.Node("pack", "Pack", {"xs:0", "xs:1"}, {{"N", PlaceholderAttr("N")}});
  lists.Returns("r", "pack:output:0");
  return {straight.Bytes(), branch.Bytes(), loop.Bytes(), lists.Bytes()};
}

// Flips, cuts, repeats and splices, a few at a time.
std::string Mutate(std::string bytes, const std::vector<std::string>& seeds, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t i = below(6) + 1; i > 0 && !bytes.empty(); --i) {
    const size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, below(16) + 1);
        break;
      case 2:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(24)));
        break;
      case 3: {
        const std::string& other = seeds[below(seeds.size())];
        bytes.insert(at, other.substr(below(other.size()), below(40)));
        break;
      }
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
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
  const char* asked_runs = std::getenv("FLOWSCOPE_FUZZ_RUNS");
  const char* asked_seed = std::getenv("FLOWSCOPE_FUZZ_SEED");
  const long runs = asked_runs == nullptr ? 20'000 : std::atol(asked_runs);
  const unsigned seed = asked_seed == nullptr ? 1u : static_cast<unsigned>(std::atol(asked_seed));
  std::printf("%ld mutations from seed %u\n", runs, seed);
  Try("");  // starts the fake runtime, which the writer of seeds needs
  const std::vector<std::string> seeds = Seeds();
  for (const std::string& bytes : seeds) Try(bytes);
  std::mt19937 random(seed);
  for (long i = 0; i < runs; ++i) Try(Mutate(seeds[random() % seeds.size()], seeds, random));
  return 0;
}

}  // namespace
}  // namespace flowscope::fake

int main(int count, char** names) {
  return count > 1 ? flowscope::fake::RunFiles(count, names) : flowscope::fake::RunMutations();
}
