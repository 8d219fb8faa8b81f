// Convolutions described to the real cuDNN without a device, as plans begin. The folders of its
// libraries are named by DEEPBENCH_TEST_CUDA_LIBRARIES, and DEEPBENCH_CUDA_LIBRARY_PATH for
// cudnn().
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "../paths.hpp"
#include "deepbench/ops/precision.hpp"
#include "ops/conv/cudnn_graph.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::conv_layouts;
using cuda::ConvLayout;
using cuda::dnn::Operation;

constexpr ConvPhase kPhases[] = {ConvPhase::kForward, ConvPhase::kBackwardData,
                                 ConvPhase::kBackwardFilter};

Conv some_conv(const char* precision, ConvPhase phase) {
  Conv conv;
  conv.w = 9, conv.h = 7, conv.c = 6, conv.n = 2, conv.k = 10, conv.s = 3, conv.r = 2;
  conv.pad_w = 1, conv.stride_h = 2, conv.dilation_w = 2;
  conv.phase = phase;
  conv.precision = precision_info(precision);
  conv.x_type = conv.precision.a;
  return conv;
}

Conv to_8_bits(Conv conv) {
  conv.precision.c = DEEPBENCH_S8;
  conv.shift = output_shift(conv);
  return conv;
}

Conv in_3d(Conv conv) {
  conv.d = 5, conv.t = 3, conv.pad_d = 1;
  return conv;
}

Conv in_groups(Conv conv) {
  conv.groups = 2;
  return conv;
}

// What the library says to the description; empty where it takes it.
std::string refusal(const ConvLayout& layout) {
  try {
    const Operation operation(layout);
    return "";
  } catch (const plugin::Error& error) {
    return error.what();
  }
}

// In a process of its own, with a driver or what stands in for one. True if `body` returned true.
bool with_driver(const std::function<bool()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string stand_in = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    const bool there = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
                       dlopen(stand_in.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!there) std::fprintf(stderr, "%s\n", dlerror());
    // Whatever it throws must not reach the parent's tests.
    const auto safely = [&]() noexcept { return body(); };
    _exit(there && safely() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool takes_all(const Conv& conv) {
  bool all = true;
  for (const ConvLayout& layout : conv_layouts(conv, "library", true)) {
    const std::string reason = refusal(layout);
    if (reason.empty()) continue;
    std::fprintf(stderr, "%s in %s: %s\n", std::string(conv.precision.name).c_str(),
                 layout.name.c_str(), reason.c_str());
    all = false;
  }
  return all;
}

bool is_there() {
  const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
  const bool there = folders && *folders;
  if (!there) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return there;
}

TEST_CASE("cuDNN takes our descriptions of every phase, precision and layout that we use") {
  if (!is_there()) return;
  for (const char* precision :
       {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8"})
    for (const ConvPhase phase : kPhases) {
      CAPTURE(precision);
      const Conv conv = some_conv(precision, phase);
      if (conv.precision.precision == Precision::kInt8 && phase != ConvPhase::kForward) continue;
      CHECK(with_driver(
          [&] { return takes_all(conv) && takes_all(in_3d(conv)) && takes_all(in_groups(conv)); }));
    }
}

TEST_CASE("cuDNN takes our descriptions of int8 to 8 bits, which are scaled") {
  if (!is_there()) return;
  CHECK(with_driver([] { return takes_all(to_8_bits(some_conv("int8", ConvPhase::kForward))); }));
}

TEST_CASE("cuDNN refuses a convolution whose output has other dimensions, with its reason") {
  if (!is_there()) return;
  CHECK(with_driver([] {
    ConvLayout layout = conv_layouts(some_conv("half", ConvPhase::kForward), "nhwc", true)[0];
    layout.y.sizes[2] += 1;
    return refusal(layout).find("BAD_PARAM") != std::string::npos;
  }));
}

}  // namespace
}  // namespace deepbench::cuda_test
