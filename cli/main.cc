// The flowscope command. One file per verb; everything it does is in the public library.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "flowscope/names.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

constexpr const char* kAbout =
    "Records what a TensorFlow model computes and shows it, without Python in the process.";
constexpr const char* kMore =
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
  return verb.get_name() == "validate" ? kExitNoVerdict : kExitUsage;
}

// A full disk behind a redirection is told, and not lost in a buffer.
int FlushOutput(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "flowscope: cannot write to the standard output: %s\n",
               std::strerror(errno));
  return code == kExitOk ? kExitDamaged : code;
}

void AddVerbs(CLI::App& app, Common& common, Run& run) {
  AddTrace(app, common, run);
  AddSummary(app, common, run);
  AddOps(app, common, run);
  AddShow(app, common, run);
  AddStats(app, common, run);
  AddNan(app, common, run);
  AddValidate(app, common, run);
  AddExport(app, common, run);
  AddRepair(app, common, run);
  AddDoctor(app, common, run);
  for (CLI::App* verb : app.get_subcommands({})) {
    verb->add_flag("--json", common.json, "print JSON instead of text");
  }
  for (const char* verb : {"trace", "validate", "doctor"}) {
    app.get_subcommand(verb)
        ->add_option("--tensorflow", common.tensorflow,
                     "folder of the TensorFlow package (default: FLOWSCOPE_TENSORFLOW, else the "
                     "wheel of the python3 on PATH)")
        ->type_name("DIR");
  }
}

int Main(int argc, char** argv) {
  CLI::App app(kAbout, "flowscope");
  app.footer(Footer("") + "\n" + kMore);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("flowscope ") + FLOWSCOPE_VERSION);
  app.get_formatter()->column_width(34);
  Common common;
  Run run;
  AddVerbs(app, common, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return FlushOutput(app.exit(done));
  } catch (const CLI::ParseError& error) {
    return Complain(app, error);
  }
  return FlushOutput(run());
}

}  // namespace

}  // namespace flowscope::cli

int main(int argc, char** argv) {
  // A reader that has seen enough (`| head`) ends the command without a word, whoever started it.
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return flowscope::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flowscope: %s\n", error.what());
    return flowscope::cli::kExitInternal;
  }
}
