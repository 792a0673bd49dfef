// Status and Result: how every core function reports failure.
//
// Core code throws nothing. A function that can fail returns Status, or Result<T> when it also has
// a value. The message names the thing at fault (op, layer, file), what was expected, and what to
// do about it; the code decides which Python exception or exit code the surfaces map it to.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace flowscope {

enum class StatusCode {
  kOk,
  kInvalidArgument,     // the caller passed something that cannot be used
  kNotFound,            // a key, op, layer or file that is not there
  kAmbiguous,           // a key that matches more than one thing
  kFailedPrecondition,  // right call at the wrong time, such as a nested recorder
  kUnavailable,         // what is needed is not here: no TensorFlow, value not kept
  kUnsupported,         // known and refused, with the reason
  kCorruption,          // a file or record that contradicts itself
  kIo,                  // the operating system refused
  kInternal,            // a broken invariant of ours
};

// Name of a code as printed in messages, such as "not found".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // By value from a temporary, so that no reference into it is left.
  const std::string& message() const& { return message_; }
  std::string message() && { return std::move(message_); }

  // "ok", or the code's name, a colon and the message.
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status Ambiguous(std::string message);
Status FailedPrecondition(std::string message);
Status Unavailable(std::string message);
Status Unsupported(std::string message);
Status Corruption(std::string message);
Status IoError(std::string message);
Status Internal(std::string message);

// A value, or the Status that says why there is none. A Result built from a Status must not be ok.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : state_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status::Ok() : std::get<Status>(state_); }

  // Only when ok().
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace flowscope

#define FLOWSCOPE_RETURN_IF_ERROR(expr)                                      \
  do {                                                                       \
    if (::flowscope::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)
