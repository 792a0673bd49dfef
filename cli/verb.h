// A verb of the command line: flags and one call of the library.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "exit_codes.h"

namespace flowscope::cli {

// What every verb takes.
struct Common {
  bool json = false;
  std::string tensorflow;
};

// Each adds its verb to the command and sets `run` to what is to be done where it was given.
using Run = std::function<int()>;
void AddTrace(CLI::App& app, const Common& common, Run& run);
void AddSummary(CLI::App& app, const Common& common, Run& run);
void AddDoctor(CLI::App& app, const Common& common, Run& run);

// Prints "flowscope: message" and gives the exit code.
int Fail(const Status& status);

}  // namespace flowscope::cli
