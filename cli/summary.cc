// flowscope summary: what a SavedModel takes and gives, without running it.
#include <cstdio>
#include <memory>

#include "flowscope/saved_model.h"
#include "verb.h"

namespace flowscope::cli {
namespace {

int RunSummary(const std::string& path, bool json) {
  const Result<api::SavedModel> model = api::SavedModel::Open(path);
  if (!model.ok()) return Fail(model.status());
  std::printf("%s\n", json ? model->DescribeJson().c_str() : model->Describe().c_str());
  return kExitOk;
}

}  // namespace

void AddSummary(CLI::App& app, const Common& common, Run& run) {
  CLI::App* verb = app.add_subcommand("summary", "what a SavedModel takes and gives");
  auto path = std::make_shared<std::string>();
  verb->add_option("SAVED_MODEL", *path, "folder that holds saved_model.pb")->required();
  verb->callback(
      [path, &common, &run] { run = [path, &common] { return RunSummary(*path, common.json); }; });
}

}  // namespace flowscope::cli
