// What is known of one op after it was looked at.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace flowscope::replay {

enum class Standing {
  kProved,
  kDeclared,  // a source, or an effect: nothing that could be proved, and counted as such
  kUnverified,
  kFailed,
  kUnavailable,  // a value that is needed is not in the trace
};

struct Verdict {
  Standing standing = Standing::kUnverified;
  std::string proof;    // how coverage counts it
  std::string check;    // which check found it wrong or could not decide; empty where proved
  std::string message;  // proved: how far within the tolerance the op is; empty where exact
};

inline Verdict Proved(std::string proof) { return {Standing::kProved, std::move(proof), {}, {}}; }
// `message` where an op that ran gave a value which is taken as it stands.
inline Verdict Declared(std::string proof, std::string message = {}) {
  return {Standing::kDeclared, std::move(proof), "declared", std::move(message)};
}
inline Verdict Unverified(std::string check, std::string message) {
  return {Standing::kUnverified, "unverified", std::move(check), std::move(message)};
}
inline Verdict Failed(std::string check, std::string message) {
  return {Standing::kFailed, "failed", std::move(check), std::move(message)};
}
inline Verdict NotKept(std::string message) {
  return {Standing::kUnavailable, "unavailable", "values", std::move(message)};
}

// True for what is wrong with this process or the file, and not with the record.
inline bool IsOurs(const Status& status) {
  return status.code() == StatusCode::kInternal || status.code() == StatusCode::kCorruption ||
         status.code() == StatusCode::kIo;
}

}  // namespace flowscope::replay
