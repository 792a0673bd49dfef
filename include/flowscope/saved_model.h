// A SavedModel: what it takes and gives, and a recorded run of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/payload.h"
#include "base/status.h"
#include "flowscope/trace.h"
#include "flowscope/trace_file.h"

namespace flowscope::api {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kInvalid;
  std::optional<Dims> dims;  // -1 for a dimension of any size; nullopt for any shape
};

struct SignatureSpec {
  std::string key;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

struct RecordOptions {
  std::string signature;       // empty: "serving_default", or the only one
  bool keep_values = true;     // false: statistics of values, and no values
  bool open_functions = true;  // false: a call of a function is one op
  bool raise_on_nan = false;   // the run ends at the first NaN or infinity
  int64_t save_budget = -1;    // bytes of values after which statistics are kept; -1: no bound
  std::string name;            // of the trace; empty: the folder's name
  // A folder NAME.flow into which everything is written while the model runs, so that memory does
  // not grow with what is recorded and a kill leaves what was committed. Empty: values stay in
  // memory.
  std::string stream_to;
  SaveOptions stream;  // how
};

struct Recording {
  Trace trace;
  Status status;   // what the model ended with; the trace then shows how far it came
  Status written;  // what went wrong with the folder that was asked for
};

// Movable. Must be used on one thread at a time.
class SavedModel {
 public:
  // Reads and checks `dir`/saved_model.pb; needs no TensorFlow. NotFound or Corruption, saying what
  // was expected.
  static Result<SavedModel> Open(const std::string& dir);
  ~SavedModel();
  SavedModel(SavedModel&& other) noexcept;
  SavedModel& operator=(SavedModel&& other) noexcept;

  std::vector<SignatureSpec> signatures() const;
  // That wrote the file.
  std::string tensorflow_version() const;
  // The signature that an empty name stands for, or `name` itself. NotFound, listing them.
  Result<SignatureSpec> FindSignature(const std::string& name) const;

  // Signatures and variables, as text and as a JSON object.
  std::string Describe() const;
  std::string DescribeJson() const;

  // Loads variables and tables at the first call, then runs the signature once and records every
  // op. Loads TensorFlow as LoadTensorFlow() where that has not happened. InvalidArgument, listing
  // what the signature takes, where the inputs do not fit. Unsupported, naming the node, where only
  // a session of TensorFlow 1 can run it. A model that fails on the way is a Recording whose status
  // is not ok.
  Result<Recording> Record(const std::map<std::string, Payload>& inputs,
                           const RecordOptions& options = {});

  // What Record would record, from the file alone: no kernel runs, no variable is restored, no
  // value is held. Shapes are those that the file tells. A loop stands as its condition and one
  // iteration; all branches are listed. Module calls in functions are told from the names of nodes,
  // as in a recording. Loads TensorFlow's libraries, for the definitions of ops.
  Result<Trace> Structure(const std::string& signature = {}) const;

 private:
  struct State;
  explicit SavedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "x: float32 (?, 3)"
std::string ToString(const TensorSpec& spec);

}  // namespace flowscope::api
