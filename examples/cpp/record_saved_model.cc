// Records a SavedModel, prints its layers and reads a value from the middle of it.
//
//   record_saved_model SAVED_MODEL NAME=x.npy [KEY]
#include <cstdio>
#include <map>
#include <string>

#include "flowscope/npy.h"
#include "flowscope/saved_model.h"

namespace {

using flowscope::Payload;
using flowscope::Result;
namespace api = flowscope::api;

int Fail(const flowscope::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

void PrintLayers(const api::Trace& trace) {
  for (const api::LayerInfo& layer : trace.layers()) {
    std::printf("%-32s %-24s %s\n", layer.label.c_str(), layer.type.c_str(), layer.module.c_str());
  }
}

int PrintValue(const api::Trace& trace, const std::string& key) {
  const Result<Payload> value = trace.Value(key);
  if (!value.ok()) return Fail(value.status());
  std::printf("%s has %lld elements\n", key.c_str(), static_cast<long long>(value->num_elements()));
  if (value->dtype == flowscope::DType::kFloat32 && value->nbytes > 0) {
    std::printf("the first one is %g\n",
                static_cast<double>(*static_cast<const float*>(value->data)));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: record_saved_model SAVED_MODEL NAME=x.npy [KEY]\n");
    return 2;
  }
  Result<api::SavedModel> model = api::SavedModel::Open(argv[1]);
  if (!model.ok()) return Fail(model.status());

  const std::string given = argv[2];
  const size_t equals = given.find('=');
  if (equals == std::string::npos) return Fail({flowscope::StatusCode::kInvalidArgument, "no ="});
  Result<Payload> value = api::ReadNpy(given.substr(equals + 1));
  if (!value.ok()) return Fail(value.status());

  const Result<api::Recording> recording = model->Record({{given.substr(0, equals), *value}});
  if (!recording.ok()) return Fail(recording.status());
  if (!recording->status.ok()) return Fail(recording->status);
  PrintLayers(recording->trace);
  return argc > 3 ? PrintValue(recording->trace, argv[3]) : 0;
}
