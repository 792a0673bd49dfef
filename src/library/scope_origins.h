// Which module calls the ops of a SavedModel's functions belong to, told from the names of nodes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/body_origins.h"
#include "interp/body.h"
#include "savedmodel/rewrite.h"
#include "savedmodel/scopes.h"
#include "trace/ids.h"

namespace flowscope::library {

// Serialized functions by name. What it is made of must outlive it.
class FunctionDefinitions {
 public:
  explicit FunctionDefinitions(const std::vector<std::string_view>& functions);
  // The same functions, under the names that they run under too.
  FunctionDefinitions(const std::vector<std::string_view>& functions,
                      const savedmodel::Rewrite& rewrite);

  std::string_view Find(std::string_view name) const;  // empty where there is none
  interp::SignatureFinder Finder() const;              // which must not outlive this

 private:
  std::map<std::string, std::string_view, std::less<>> by_name_;
};

class ScopeOrigins : public capture::BodyOriginProvider {
 public:
  // `modules`: what the trace calls the modules of the scopes. The rest must outlive it.
  ScopeOrigins(const savedmodel::Scopes& scopes, std::vector<ModuleId> modules,
               const FunctionDefinitions& functions)
      : scopes_(scopes), modules_(std::move(modules)), functions_(functions) {}

  std::shared_ptr<const capture::BodyOrigins> Of(const std::string& function) override;

 private:
  const savedmodel::Scopes& scopes_;
  std::vector<ModuleId> modules_;
  const FunctionDefinitions& functions_;
};

// Said in a trace that has such calls.
inline constexpr std::string_view kScopesNote =
    "module calls are told from the names of nodes; their method is 'by name'";

}  // namespace flowscope::library
