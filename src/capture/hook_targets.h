// The functions that stand in front of TensorFlow's while a recorder lives.
#pragma once

#include "tf/hook.h"

namespace flowscope::capture {

const tf::HookTargets& RecorderTargets();

}  // namespace flowscope::capture
