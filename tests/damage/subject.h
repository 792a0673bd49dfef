// Files that are going to be damaged, and what must hold of them afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace flowscope::damage {

// What a file may say: a trace, and the hashes that its values had before anything was damaged,
// empty where there is none.
struct State {
  explicit State(std::shared_ptr<const Trace> whole);

  std::shared_ptr<const Trace> trace;
  std::vector<std::string> hashes;  // by tensor
};

// A saved trace: what OpenTrace is given, and the files in it.
struct Subject {
  std::string name;
  std::string path;
  std::vector<std::string> files;
  uint64_t num_bytes = 0;  // of all files
  // What was committed, one after the other; the last is what the files hold.
  std::vector<State> states;
};

// A folder, the same compressed and as a zip, and two whose recording was cut off: one with its
// rows in SQLite's log, one with all of them worked in.
std::vector<Subject> MakeSubjects(const std::string& folder);

enum class Outcome : uint8_t { kRefused, kWhole, kPrefix };

// Loads `subject` as it stands now and asks it everything. Aborts with a message where a promise is
// broken: an error that does not name the file, ops or values that are not those of one of the
// states, a file that was written, memory beyond twice the files.
class Judge {
 public:
  Judge(const Subject& subject, std::string private_folder);

  Outcome Try();
  uint64_t values_refused() const { return values_refused_; }
  size_t most_memory() const { return most_memory_; }

 private:
  Outcome Load();
  Outcome Compare(const Trace& trace);
  bool Says(const State& state, const Trace& trace);
  std::string Files() const;

  const Subject& subject_;
  std::string private_folder_;  // where copies are made
  size_t memory_of_intact_ = 0;
  size_t most_memory_ = 0;
  uint64_t values_refused_ = 0;
};

}  // namespace flowscope::damage
