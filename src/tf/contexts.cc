#include "tf/contexts.h"

#include <dlfcn.h>

#include <filesystem>

#include "tf/handles.h"

namespace flowscope::tf {
namespace {

struct ContextOptionsDeleter {
  void operator()(TFE_ContextOptions* options) const { Api().TFE_DeleteContextOptions(options); }
};
using ContextOptionsPtr = std::unique_ptr<TFE_ContextOptions, ContextOptionsDeleter>;

// Entries that only this file needs; null where this TensorFlow lacks them.
template <typename Function>
Function* Find(const char* name) {
  const std::string dir = TensorFlowDir();
  if (dir.empty()) return nullptr;  // another table than a real TensorFlow's
  const std::string path = (std::filesystem::path(dir) / "libtensorflow_cc.so.2").string();
  void* library = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

void ContextDeleter::operator()(TFE_Context* context) const { Api().TFE_DeleteContext(context); }

Result<ContextPtr> NewContext(const std::string& config) {
  const CApi& api = Api();
  if (!api.TFE_NewContext || !api.TFE_NewContextOptions || !api.TFE_DeleteContext ||
      !api.TFE_DeleteContextOptions) {
    return Unavailable("this TensorFlow makes no second context");
  }
  const StatusPtr status = NewStatus();
  const ContextOptionsPtr options(api.TFE_NewContextOptions());
  using SetConfig = void(TFE_ContextOptions*, const void*, size_t, TF_Status*);
  SetConfig* set_config = Find<SetConfig>("TFE_ContextOptionsSetConfig");
  if (set_config != nullptr && !config.empty()) {
    set_config(options.get(), config.data(), config.size(), status.get());
    FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "the settings of a second context"));
  }
  ContextPtr context(api.TFE_NewContext(options.get(), status.get()));
  FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "a second context"));
  using RunAsFunction = void(TFE_Context*, unsigned char, TF_Status*);
  if (auto* run_as_function = Find<RunAsFunction>("TFE_ContextSetRunEagerOpAsFunction")) {
    run_as_function(context.get(), 1, status.get());
    FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "the settings of a second context"));
  }
  return context;
}

}  // namespace flowscope::tf
