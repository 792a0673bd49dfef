#include "tf/standalone.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tf/handles.h"

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

// What a command prints, without the newline at its end.
std::string OutputOf(const char* command) {
  std::string output;
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  pclose(pipe);
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

constexpr const char* kAskPython =
    "python3 -c 'import importlib.util as u; s = u.find_spec(\"tensorflow\"); "
    "print(s.submodule_search_locations[0] if s else \"\")' 2>/dev/null";

}  // namespace

void ContextDeleter::operator()(TFE_Context* context) const { Api().TFE_DeleteContext(context); }

Result<TensorFlowLocation> FindTensorFlow(const std::string& asked) {
  if (!asked.empty()) return Named(asked, "--tensorflow");
  const char* variable = std::getenv("FLOWSCOPE_TENSORFLOW");
  if (variable != nullptr && *variable != '\0') return Named(variable, "FLOWSCOPE_TENSORFLOW");
  const std::string wheel = OutputOf(kAskPython);
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

Result<ContextPtr> NewContext() {
  const CApi& api = Api();
  if (api.TFE_NewContextOptions == nullptr || api.TFE_NewContext == nullptr ||
      api.TFE_DeleteContextOptions == nullptr || api.TFE_DeleteContext == nullptr) {
    return Unavailable("this TensorFlow makes no eager context");
  }
  const StatusPtr status = NewStatus();
  TFE_ContextOptions* options = api.TFE_NewContextOptions();
  ContextPtr context(api.TFE_NewContext(options, status.get()));
  api.TFE_DeleteContextOptions(options);
  FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "making an eager context"));
  return context;
}

}  // namespace flowscope::tf
