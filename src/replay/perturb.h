// Moves the inputs of an op, one at a time, and looks whether its outputs move: replay alone passes
// an edge whose value the op does not look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "replay/replayer.h"

namespace flowscope::replay {

struct Perturbation {
  std::map<std::string, int64_t> rules;  // inputs by what was found: "perturb:moved", ...
  std::vector<std::string> unexplained;  // inputs that nothing moved, and no rule says why
};

// For an op that the replayer has just proved by running it. The rules, in docs/validation.md:
//   moved          the outputs moved
//   discrete       an integer, bool or string: no neighbouring value is known to be as good
//   no_value       the input, or every output, has no bytes: a handle, a list of tensors
//   empty          the input or every output has no elements
//   saturated      small moves change nothing, large ones do
//   hidden         no move changes anything with these other inputs; with others it does
//   unread         the op is known not to read this argument's values
Result<Perturbation> Perturb(const Trace& trace, Replayer& replayer, OpId id);

}  // namespace flowscope::replay
