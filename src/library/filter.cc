#include "library/filter.h"

#include "analyze/tables.h"
#include "trace/selector.h"

namespace flowscope::library {
namespace {

// Null where the filter says nothing.
SelectorPtr SelectorOf(const api::OpFilter& filter) {
  SelectorPtr all;
  const auto add = [&all](SelectorPtr part) {
    all = all == nullptr ? std::move(part) : And(std::move(all), std::move(part));
  };
  if (!filter.sites.empty()) add(SelectText(filter.sites));
  if (!filter.layer.empty()) add(SelectInModule(filter.layer));
  if (!filter.type.empty()) add(SelectFunc(filter.type));
  return all;
}

}  // namespace

Result<FilteredOps> OpsOf(const Trace& trace, const api::OpFilter& filter) {
  FilteredOps ops;
  if (const SelectorPtr selector = SelectorOf(filter); selector != nullptr) {
    Result<std::vector<OpId>> found = Select(trace, selector);
    if (!found.ok()) return found.status();
    ops.ids = std::move(found).value();
  } else {
    ops.ids = AllOps(trace);
  }
  if (filter.limit < 0) return InvalidArgument("a limit of ops is a number above 0, or 0 for all");
  const auto limit = static_cast<size_t>(filter.limit);
  if (limit > 0 && ops.ids.size() > limit) {
    ops.left_out = ops.ids.size() - limit;
    ops.ids.resize(limit);
  }
  return ops;
}

}  // namespace flowscope::library
