// What the command returns to the shell; docs/command_line.md shows the same table.
#pragma once

#include "flowscope/trace.h"

namespace flowscope::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFinding = 1;      // it ran, and found what it was asked to look for
inline constexpr int kExitUsage = 2;        // flags or inputs that cannot be used
inline constexpr int kExitNotFound = 3;     // no such file, signature or key
inline constexpr int kExitDamaged = 4;      // a file that is damaged, or cannot be read or written
inline constexpr int kExitUnavailable = 5;  // no TensorFlow, or a value that was not kept
inline constexpr int kExitFailed = 6;       // the model failed while it ran
inline constexpr int kExitInternal = 70;    // a fault of flowscope

// Of validate, whose usage errors are no verdict either.
inline constexpr int kExitPassed = 0;
inline constexpr int kExitRefuted = 1;
inline constexpr int kExitUnverified = 2;
inline constexpr int kExitNoVerdict = 3;

int ExitCode(const Status& status);

}  // namespace flowscope::cli
