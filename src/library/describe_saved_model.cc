// A SavedModel in words, from its file alone.
#include <nlohmann/json.hpp>

#include "flowscope/saved_model.h"

namespace flowscope::api {
namespace {

std::string Lines(const std::vector<TensorSpec>& specs, std::string_view title) {
  std::string text;
  for (const TensorSpec& spec : specs)
    text.append("  ").append(title).append(ToString(spec) + "\n");
  return text;
}

nlohmann::ordered_json SpecsJson(const std::vector<TensorSpec>& specs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TensorSpec& spec : specs) {
    nlohmann::ordered_json entry = {{"name", spec.name}, {"dtype", DTypeName(spec.dtype)}};
    entry["shape"] = spec.dims ? nlohmann::ordered_json(*spec.dims) : nullptr;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string SavedModel::Describe() const {
  std::string text = "SavedModel written by TensorFlow " + tensorflow_version();
  for (const SignatureSpec& signature : signatures()) {
    text += "\nsignature " + signature.key + "\n" + Lines(signature.inputs, "input   ") +
            Lines(signature.outputs, "output  ");
    text.pop_back();
  }
  return text;
}

std::string SavedModel::DescribeJson() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SignatureSpec& signature : signatures()) {
    list.push_back({{"key", signature.key},
                    {"inputs", SpecsJson(signature.inputs)},
                    {"outputs", SpecsJson(signature.outputs)}});
  }
  const nlohmann::ordered_json json = {{"tensorflow", tensorflow_version()},
                                       {"signatures", std::move(list)}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace flowscope::api
