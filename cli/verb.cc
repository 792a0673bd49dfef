// What verbs share.
#include "verb.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

#include "flowscope/trace_file.h"

namespace flowscope::cli {
namespace {

constexpr const char* kExitCodes =
    "exit codes: 0 done, 1 found what it looked for, 2 usage, 3 not found, 4 a file that is "
    "damaged,\n"
    "            unreadable or cannot be written, 5 unavailable or unsupported, 6 the model "
    "failed,\n"
    "            70 fault of flowscope";

}  // namespace

std::string Footer(const std::string& examples, const std::string& exit_codes) {
  std::string text = examples.empty() ? "" : "examples:\n" + examples + "\n";
  return text + (exit_codes.empty() ? kExitCodes : exit_codes);
}

CLI::Validator Count() {
  const auto check = [](const std::string& text) -> std::string {
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stop == end && number >= 0) return "";
    return "expected a whole number from 0 on, got '" + text + "'";
  };
  return {check, ""};
}

void AddTracePath(CLI::App& verb, std::string& path) {
  verb.add_option("TRACE", path, "folder NAME.flow or file NAME.flow.zip")
      ->required()
      ->type_name("PATH");
}

namespace {

// An empty text is a shell's variable that was not set, and does not mean everything.
CLI::Validator Name() {
  return {[](const std::string& text) { return text.empty() ? "expected a name, got ''" : ""; },
          ""};
}

}  // namespace

void AddFilter(CLI::App& verb, api::OpFilter& filter) {
  verb.add_option("SELECTOR,--match", filter.sites,
                  "address of a layer, for the ops that made its outputs, or label of ops; globs "
                  "with * and ?")
      ->type_name("GLOB")
      ->check(Name());
  verb.add_option("--layer", filter.layer, "ops in the layer of that address and below it; globs")
      ->type_name("ADDRESS")
      ->check(Name());
  verb.add_option("--type", filter.type, "ops of that type, case ignored; globs")
      ->type_name("TYPE")
      ->check(Name());
  verb.add_option("--limit", filter.limit, "the first N of them (default: all)")
      ->type_name("N")
      ->check(Count());
}

Result<api::Trace> OpenTrace(const std::string& path) {
  Result<api::Trace> trace = api::OpenTrace(path);
  if (trace.ok() && trace->interrupted()) {
    std::fprintf(stderr, "flowscope: the recording of %s was cut off: this is what was committed\n",
                 path.c_str());
  }
  return trace;
}

int Print(const std::string& text) {
  const bool ended = !text.empty() && text.back() == '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!ended) std::fputc('\n', stdout);
  return kExitOk;
}

int Print(const Result<std::string>& text) {
  return text.ok() ? Print(*text) : Fail(text.status());
}

int Fail(const Status& status) {
  std::fprintf(stderr, "flowscope: %s\n", status.message().c_str());
  return ExitCode(status);
}

}  // namespace flowscope::cli
