// The floating-point environment of a thread, made the default one for a scope.
#pragma once

#include <cfenv>

namespace flowscope {

// TensorFlow runs kernels with denormals flushed to zero, and a caller may have set a rounding
// mode. Statistics must not depend on either: every kernel entry holds one of these. Threads
// started inside the scope inherit the default environment.
class ScopedDefaultFpEnvironment {
 public:
  ScopedDefaultFpEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ScopedDefaultFpEnvironment() { std::fesetenv(&saved_); }

  ScopedDefaultFpEnvironment(const ScopedDefaultFpEnvironment&) = delete;
  ScopedDefaultFpEnvironment& operator=(const ScopedDefaultFpEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace flowscope
