// What is known of one op after it was looked at.
#pragma once

#include <string>
#include <utility>

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
  std::string proof;  // how coverage counts it
  std::string check;  // which check found it wrong or could not decide; empty where proved
  std::string message;
};

inline Verdict Proved(std::string proof) { return {Standing::kProved, std::move(proof), {}, {}}; }
inline Verdict Declared(std::string proof) {
  return {Standing::kDeclared, std::move(proof), {}, {}};
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

}  // namespace flowscope::replay
