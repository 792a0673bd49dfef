#include "tf/c_api.h"

#include <dlfcn.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

namespace flowscope::tf {
namespace {

constexpr const char* kMainLibrary = "libtensorflow_cc.so.2";
constexpr const char* kFrameworkLibrary = "libtensorflow_framework.so.2";
constexpr const char* kResourceHandleSerialize =
    "_ZNK10tensorflow14ResourceHandle17SerializeAsStringB5cxx11Ev";
constexpr const char* kAttrBuilderCacheKey =
    "_ZN10tensorflow11AttrBuilder8CacheKeyESt17basic_string_viewIcSt11char_traitsIcEE";
constexpr const char* kAttrBuilderTable = "_ZTVN10tensorflow11AttrBuilderE";
// A name in C++ does not tell what the call gives back: those that are known to give two words.
constexpr int kFirstMinorWithFingerprint = 16;
constexpr int kLastMinorWithFingerprint = 21;

// Trivially destroyed, so that handles which outlive main() can still be released.
constinit CApi g_api;
constinit std::atomic<bool> g_loaded = false;

std::mutex& LoadMutex() {
  static std::mutex mutex;
  return mutex;
}

std::string& LoadedDir() {
  static std::string dir;
  return dir;
}

// The handle is kept for the life of the process: the table points into the library.
Result<void*> OpenLoaded(const std::string& tensorflow_dir, const char* library) {
  const std::string path = (std::filesystem::path(tensorflow_dir) / library).string();
  if (void* handle = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY)) return handle;
  return Unavailable("TensorFlow is not loaded in this process (looked for " + path +
                     "); import tensorflow first");
}

class SymbolFinder {
 public:
  SymbolFinder(void* main, void* framework) : main_(main), framework_(framework) {}

  template <typename Function>
  void Find(const char* name, Function*& slot, bool required) {
    void* symbol = dlsym(main_, name);
    if (symbol == nullptr) symbol = dlsym(framework_, name);
    if (symbol == nullptr && required)
      missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
    slot = reinterpret_cast<Function*>(symbol);
  }

  const std::string& missing() const { return missing_; }

 private:
  void* main_;
  void* framework_;
  std::string missing_;
};

// What an object's first word points at: behind the offset to its top and its type.
void FindFingerprint(SymbolFinder& finder, CApi& api) {
  int minor = 0;
  constexpr std::string_view kMajor = "2.";
  const char* text = api.TF_Version();
  const std::string_view version = text == nullptr ? "" : text;
  if (!version.starts_with(kMajor)) return;
  const char* end = version.data() + version.size();
  if (std::from_chars(version.data() + kMajor.size(), end, minor).ec != std::errc()) return;
  if (minor < kFirstMinorWithFingerprint || minor > kLastMinorWithFingerprint) return;
  void (*table)() = nullptr;
  finder.Find(kAttrBuilderTable, table, false);
  if (table == nullptr) return;
  api.AttrBuilderTable = reinterpret_cast<void* const*>(table) + 2;
  finder.Find(kAttrBuilderCacheKey, api.AttrBuilderCacheKey, false);
}

std::string CanonicalDir(const std::string& dir) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(dir, error);
  return error ? dir : canonical.string();
}

Result<CApi> ResolveAll(const std::string& tensorflow_dir) {
  Result<void*> main = OpenLoaded(tensorflow_dir, kMainLibrary);
  FLOWSCOPE_RETURN_IF_ERROR(main.status());
  Result<void*> framework = OpenLoaded(tensorflow_dir, kFrameworkLibrary);
  FLOWSCOPE_RETURN_IF_ERROR(framework.status());
  SymbolFinder finder(*main, *framework);
  CApi api;
#define FLOWSCOPE_TF_FIND_REQUIRED(result, name, args) finder.Find(#name, api.name, true);
#define FLOWSCOPE_TF_FIND_OPTIONAL(result, name, args) finder.Find(#name, api.name, false);
  FLOWSCOPE_TF_REQUIRED(FLOWSCOPE_TF_FIND_REQUIRED)
  FLOWSCOPE_TF_OPTIONAL(FLOWSCOPE_TF_FIND_OPTIONAL)
#undef FLOWSCOPE_TF_FIND_REQUIRED
#undef FLOWSCOPE_TF_FIND_OPTIONAL
  finder.Find(kResourceHandleSerialize, api.ResourceHandleSerialize, false);
  finder.Find(kHandleToDLPack, api.HandleToDLPack, false);
  if (finder.missing().empty()) {
    FindFingerprint(finder, api);
    return api;
  }
  const std::string version = api.TF_Version ? api.TF_Version() : "of unknown version";
  return Unavailable("TensorFlow " + version + " lacks " + finder.missing() +
                     "; flowscope needs TensorFlow 2.16 or newer");
}

}  // namespace

const CApi& Api() { return g_api; }

bool ApiLoaded() { return g_loaded.load(std::memory_order_acquire); }

Status LoadCApi(const std::string& tensorflow_dir) {
  std::lock_guard lock(LoadMutex());
  const std::string dir = CanonicalDir(tensorflow_dir);
  if (ApiLoaded() && LoadedDir() == dir) return Status::Ok();
  Result<CApi> api = ResolveAll(tensorflow_dir);
  FLOWSCOPE_RETURN_IF_ERROR(api.status());
  g_api = *api;
  LoadedDir() = dir;
  g_loaded.store(true, std::memory_order_release);
  return Status::Ok();
}

std::string TensorFlowDir() {
  std::lock_guard lock(LoadMutex());
  return LoadedDir();
}

void SetCApiForTesting(const CApi& api) {
  std::lock_guard lock(LoadMutex());
  g_api = api;
  LoadedDir().clear();
  g_loaded.store(true, std::memory_order_release);
}

}  // namespace flowscope::tf
