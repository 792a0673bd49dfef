#include "tf/contexts.h"

#include "tf/handles.h"

namespace flowscope::tf {
namespace {

struct ContextOptionsDeleter {
  void operator()(TFE_ContextOptions* options) const { Api().TFE_DeleteContextOptions(options); }
};
using ContextOptionsPtr = std::unique_ptr<TFE_ContextOptions, ContextOptionsDeleter>;

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
  if (api.TFE_ContextOptionsSetConfig != nullptr && !config.empty()) {
    api.TFE_ContextOptionsSetConfig(options.get(), config.data(), config.size(), status.get());
    FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "the settings of a second context"));
  }
  ContextPtr context(api.TFE_NewContext(options.get(), status.get()));
  FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "a second context"));
  if (api.TFE_ContextSetRunEagerOpAsFunction != nullptr) {
    api.TFE_ContextSetRunEagerOpAsFunction(context.get(), 1, status.get());
    FLOWSCOPE_RETURN_IF_ERROR(FromTf(status.get(), "the settings of a second context"));
  }
  return context;
}

}  // namespace flowscope::tf
