// What a person calls a function that TensorFlow has numbered.
#pragma once

#include <string>
#include <string_view>

namespace flowscope {

// "__inference_newton_27" is "newton", "__inference___backward_newton_23_27" is "backward_newton".
// Each prefix that TensorFlow puts before a name comes with a number of the process behind it,
// which says nothing about the function and is another one in the next build of the same model.
std::string ReadableFunctionName(std::string_view name);

// The same for a graph that is being traced: that of a person's function has no number yet, those
// of branches and loops have: "while_body_389" is "while_body", "while_body_25_grad"
// "while_body_grad".
std::string ReadableGraphName(std::string_view name);

}  // namespace flowscope
