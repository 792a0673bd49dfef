// A verb of the command line: flags and one call of the library.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "exit_codes.h"
#include "flowscope/trace.h"

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
void AddOps(CLI::App& app, const Common& common, Run& run);
void AddShow(CLI::App& app, const Common& common, Run& run);
void AddStats(CLI::App& app, const Common& common, Run& run);
void AddNan(CLI::App& app, const Common& common, Run& run);
void AddValidate(CLI::App& app, const Common& common, Run& run);
void AddExport(CLI::App& app, const Common& common, Run& run);
void AddRepair(CLI::App& app, const Common& common, Run& run);
void AddDoctor(CLI::App& app, const Common& common, Run& run);

// What stands below the flags in a verb's help: `examples`, one command a line, and the exit codes.
std::string Footer(const std::string& examples, const std::string& exit_codes = {});

// The positional argument TRACE.
void AddTracePath(CLI::App& verb, std::string& path);
// [SELECTOR], --match, --layer, --type, --limit: which ops are meant.
void AddFilter(CLI::App& verb, api::OpFilter& filter);

// Whole numbers from 0 on.
CLI::Validator Count();

// Opens a trace; says on stderr where its recording was cut off.
Result<api::Trace> OpenTrace(const std::string& path);

// Prints the text, which ends with a line break then. Gives the exit code.
int Print(const std::string& text);
// The same, or Fail.
int Print(const Result<std::string>& text);

// Prints "flowscope: message" and gives the exit code.
int Fail(const Status& status);

}  // namespace flowscope::cli
