#include "tf/kernels.h"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace flowscope::tf {
namespace {

std::string ListOf(std::initializer_list<const char*> devices) {
  std::string list;
  for (const char* device : devices) {
    std::string kernel;
    protozero::pbf_writer writer(kernel);
    writer.add_string(1, "Op");
    writer.add_string(2, device);
    protozero::pbf_writer(list).add_message(1, kernel);
  }
  return list;
}

TEST(KernelsTest, FindsTheDevice) {
  EXPECT_TRUE(*ListsKernelOn(ListOf({"XLA_CPU_JIT", "CPU"}), "CPU"));
  EXPECT_FALSE(*ListsKernelOn(ListOf({"XLA_CPU_JIT", "GPU"}), "CPU"));
  EXPECT_FALSE(*ListsKernelOn("", "CPU"));
}

TEST(KernelsTest, KernelsOfXlaAreNone) {
  EXPECT_TRUE(*ListsKernel(ListOf({"XLA_CPU_JIT", "GPU"})));
  EXPECT_FALSE(*ListsKernel(ListOf({"XLA_CPU_JIT", "XLA_GPU_JIT"})));
  EXPECT_FALSE(*ListsKernel(""));
}

TEST(KernelsTest, SaysThatBytesAreNoList) { EXPECT_FALSE(ListsKernelOn("\x0a\x7f", "CPU").ok()); }

}  // namespace
}  // namespace flowscope::tf
