#include "trace/function_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace flowscope {
namespace {

bool TakePrefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
  name.remove_prefix(prefix.size());
  return true;
}

// "newton_27" is "newton"; a name that is only a number stays.
std::string_view WithoutNumber(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) --end;
  const bool numbered = end > 1 && end < name.size() && name[end - 1] == '_';
  return numbered ? name.substr(0, end - 1) : name;
}

bool IsPartOfControlFlow(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kParts = {"_cond", "_body", "_true", "_false"};
  if (std::ranges::any_of(kParts, [&](std::string_view part) { return name.ends_with(part); })) {
    return true;
  }
  const size_t branch = name.rfind("_branch");
  return branch != std::string_view::npos &&
         name.find_first_not_of("0123456789", branch + 7) == std::string_view::npos;
}

}  // namespace

std::string ReadableFunctionName(std::string_view name) {
  std::string backward;
  int numbers = 0;
  while (true) {
    if (TakePrefix(name, "__backward_")) {
      backward += "backward_";
    } else if (!TakePrefix(name, "__inference_") && !TakePrefix(name, "__forward_")) {
      break;
    }
    ++numbers;
  }
  // The graph of a branch or of a body has a number without a prefix.
  for (int i = 0; i < std::max(numbers, 1); ++i) name = WithoutNumber(name);
  return backward + std::string(name);
}

std::string ReadableGraphName(std::string_view name) {
  std::string suffixes;
  std::string_view rest = WithoutNumber(name);
  for (const std::string_view suffix : {"_grad", "_rewritten"}) {
    if (!rest.ends_with(suffix)) continue;
    rest = WithoutNumber(rest.substr(0, rest.size() - suffix.size()));
    suffixes.insert(0, suffix);
  }
  return IsPartOfControlFlow(rest) ? std::string(rest) + suffixes : std::string(name);
}

}  // namespace flowscope
