// Any bytes as saved_model.pb of a folder whose structure is asked for: a sound trace, or refused.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fake_runtime/fake_runtime.h"
#include "fuzz/folder.h"
#include "fuzz/saved_model_seeds.h"
#include "fuzz/target.h"
#include "library/structure.h"
#include "trace/lint.h"

namespace flowscope::fuzz {
namespace {

bool Structure(const savedmodel::SavedModelFile& file, std::string_view signature) {
  const Result<std::shared_ptr<const Trace>> trace = library::StructureOf(file, signature, "fuzz");
  if (!trace.ok()) return false;
  for (const auto& finding : Lint(**trace)) {
    std::fprintf(stderr, "lint: %s\n", finding.c_str());
    std::abort();
  }
  return true;
}

}  // namespace

bool TryBytes(std::string_view bytes) {
  static const fake::Runtime runtime;
  static const Folder folder;
  std::ofstream(folder.path() + "/saved_model.pb", std::ios::binary | std::ios::trunc) << bytes;
  const auto file = savedmodel::SavedModelFile::Open(folder.path());
  if (!file.ok()) return false;
  bool any = false;
  for (const std::string_view key : (*file)->SignatureKeys()) {
    any = Structure(**file, key) || any;
  }
  return any;
}

std::vector<std::string> Seeds() {
  TryBytes("");  // starts the runtime that the writer needs
  return SavedModelSeeds();
}

}  // namespace flowscope::fuzz
