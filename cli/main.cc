// The flowscope command. One file per verb; everything it does is in the public library.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "flowscope/names.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kAbout =
    "Records what a TensorFlow model computes, without Python in the process.";
constexpr const char* kFooter =
    "exit codes: 0 done, 1 found what it looked for, 2 usage, 3 not found, 4 damaged file,\n"
    "            5 unavailable or unsupported, 6 the model failed, 70 fault of flowscope\n"
    "`flowscope VERB --help` tells a verb's flags. docs/command_line.md has examples.";

// "did you mean" for a word that is no verb or flag.
std::string Hint(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands({})) known.push_back(verb->get_name());
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  const std::string near = api::NearestName(word, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

const CLI::App* Innermost(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? &app : given.front();
}

int Complain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = *Innermost(app);
  std::string message = error.what();
  std::string hint;
  const std::vector<std::string> extra = verb.remaining(true);
  if (!extra.empty()) {
    message = "'" + extra.front() + "' is not expected here";
    hint = Hint(verb, extra.front());
  }
  std::fprintf(stderr, "flowscope: %s%s\nRun `%s --help` for usage.\n", message.c_str(),
               hint.c_str(),
               (&verb == &app ? std::string("flowscope") : "flowscope " + verb.get_name()).c_str());
  return kExitUsage;
}

int Main(int argc, char** argv) {
  CLI::App app(kAbout, "flowscope");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("flowscope ") + FLOWSCOPE_VERSION);
  app.get_formatter()->column_width(34);
  Common common;
  Run run;
  AddTrace(app, common, run);
  AddSummary(app, common, run);
  AddDoctor(app, common, run);
  for (CLI::App* verb : app.get_subcommands({})) {
    verb->add_flag("--json", common.json, "print JSON instead of text");
    verb->add_option("--tensorflow", common.tensorflow,
                     "folder of the TensorFlow package (default: FLOWSCOPE_TENSORFLOW, else the "
                     "wheel of the python3 on PATH)")
        ->type_name("DIR");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return Complain(app, error);
  }
  return run();
}

}  // namespace

int Fail(const Status& status) {
  std::fprintf(stderr, "flowscope: %s\n", status.message().c_str());
  return ExitCode(status);
}

}  // namespace flowscope::cli

int main(int argc, char** argv) {
  try {
    return flowscope::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flowscope: %s\n", error.what());
    return flowscope::cli::kExitInternal;
  }
}
