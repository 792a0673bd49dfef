#include "exit_codes.h"

namespace flowscope::cli {

int ExitCode(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kAmbiguous:
    case StatusCode::kFailedPrecondition:
      return kExitUsage;
    case StatusCode::kNotFound:
      return kExitNotFound;
    case StatusCode::kCorruption:
    case StatusCode::kIo:
      return kExitDamaged;
    case StatusCode::kUnavailable:
    case StatusCode::kUnsupported:
      return kExitUnavailable;
    case StatusCode::kInternal:
      break;
  }
  return kExitInternal;
}

}  // namespace flowscope::cli
