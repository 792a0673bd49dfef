#include "tf/standalone.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "tf/c_api.h"

namespace flowscope::tf {
namespace {

constexpr std::array<const char*, 2> kLibraries = {"libtensorflow_framework.so.2",
                                                   "libtensorflow_cc.so.2"};

bool HasLibraries(const std::filesystem::path& dir) {
  std::error_code error;
  for (const char* library : kLibraries) {
    if (!std::filesystem::exists(dir / library, error)) return false;
  }
  return true;
}

// The folder that was named, or the package inside of it.
Result<TensorFlowLocation> Named(const std::string& dir, const std::string& source) {
  for (const std::filesystem::path& candidate :
       {std::filesystem::path(dir), std::filesystem::path(dir) / "tensorflow"}) {
    if (HasLibraries(candidate)) return TensorFlowLocation{candidate.string(), source};
  }
  return NotFound(source + " names " + dir + ", which has no " + kLibraries[0] + " and " +
                  kLibraries[1] +
                  "; name the folder of the installed package, such as "
                  ".../site-packages/tensorflow");
}

// What the python3 on PATH prints for `code`, without newlines at its end; empty where it fails.
std::string AskPython(const char* code) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  const std::array<const char*, 4> words = {"python3", "-c", code, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr,
                                  const_cast<char* const*>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = read(ends[0], part.data(), part.size())) > 0;) {
    output.append(part.data(), static_cast<size_t>(count));
  }
  close(ends[0]);
  if (failed != 0) return "";
  int status = 0;
  waitpid(child, &status, 0);
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return status == 0 ? output : "";
}

// Imports nothing of TensorFlow.
constexpr const char* kWhereIsTensorFlow =
    "import importlib.util as u; s = u.find_spec('tensorflow'); "
    "print(s.submodule_search_locations[0] if s else '')";

}  // namespace

Result<TensorFlowLocation> FindTensorFlow(const std::string& asked) {
  if (!asked.empty()) return Named(asked, "--tensorflow");
  const char* variable = std::getenv("FLOWSCOPE_TENSORFLOW");
  if (variable != nullptr && *variable != '\0') return Named(variable, "FLOWSCOPE_TENSORFLOW");
  const std::string wheel = AskPython(kWhereIsTensorFlow);
  if (!wheel.empty() && HasLibraries(wheel)) return TensorFlowLocation{wheel, "python3"};
  return NotFound(
      "TensorFlow was not found: --tensorflow was not given, FLOWSCOPE_TENSORFLOW is not set, and "
      "the python3 on PATH has " +
      (wheel.empty() ? std::string("no package 'tensorflow'")
                     : "a package without its libraries at " + wheel) +
      "; name the folder of an installed TensorFlow 2.16 or newer");
}

Status OpenTensorFlow(const std::string& dir) {
  // TensorFlow speaks of its optimizations on stderr at its first step unless it is told not to.
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  for (const char* library : kLibraries) {
    const std::string path = (std::filesystem::path(dir) / library).string();
    if (dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      return Unavailable("TensorFlow cannot be loaded: " + std::string(dlerror()));
    }
  }
  return LoadCApi(dir);
}

Status LoadOpLibrary(const std::string& path) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return Status::Ok();
  return Unavailable("the op library cannot be loaded: " + std::string(dlerror()));
}

}  // namespace flowscope::tf
