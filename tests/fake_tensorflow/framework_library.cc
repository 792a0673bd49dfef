// A libtensorflow_framework.so.2: names may live in either library.

#include <cstddef>

extern "C" __attribute__((visibility("default"))) size_t TF_TensorDefaultAlignment() { return 64; }
