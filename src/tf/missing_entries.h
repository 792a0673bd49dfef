// What this TensorFlow lacks of what is used where it is there.
#pragma once

#include <string>
#include <vector>

namespace flowscope::tf {

// Names; needs Api() to be loaded.
std::vector<std::string> MissingEntries();

}  // namespace flowscope::tf
