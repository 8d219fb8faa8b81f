// Descriptions of convolutions to the real cuDNN without a device, which are the first step of a
// plan. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders of the libraries, and so does
// DEEPBENCH_CUDA_LIBRARY_PATH for cudnn().
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "../paths.hpp"
#include "deepbench/core/precision.hpp"
#include "ops/conv/cudnn_graph.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::conv_layouts;
using cuda::ConvLayout;
using cuda::dnn::Operation;

constexpr ConvPhase kPhases[] = {ConvPhase::kForward, ConvPhase::kBackwardData,
                                 ConvPhase::kBackwardFilter};

Conv example_conv(const char* precision, ConvPhase phase) {
  Conv conv;
  conv.w = 9, conv.h = 7, conv.c = 6, conv.n = 2, conv.k = 10, conv.s = 3, conv.r = 2;
  conv.pad_w = 1, conv.stride_h = 2, conv.dilation_w = 2;
  conv.phase = phase;
  conv.precision = precision_info(precision);
  conv.x_type = conv.precision.a;
  return conv;
}

Conv with_8_bit_output(Conv conv) {
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

// The library's reason for rejecting the description, or an empty string if it accepts the
// description.
std::string refusal_message(const ConvLayout& layout) {
  try {
    const Operation operation(layout);
    return "";
  } catch (const plugin::Error& error) {
    return error.what();
  }
}

// Runs `body` in a separate process with a driver or a stub of one. Returns true if `body` returned
// true.
bool run_in_process_with_driver(const std::function<bool()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string stub = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    const bool is_loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
                           dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!is_loaded) std::fprintf(stderr, "%s\n", dlerror());
    // An exception in the child must not reach the parent's tests, so it terminates the child.
    const auto safely = [&]() noexcept { return body(); };
    _exit(is_loaded && safely() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool cudnn_accepts_all_layouts(const Conv& conv) {
  bool all = true;
  for (const ConvLayout& layout : conv_layouts(conv, "library", true)) {
    const std::string reason = refusal_message(layout);
    if (reason.empty()) continue;
    std::fprintf(stderr, "%s in %s: %s\n", std::string(conv.precision.name).c_str(),
                 layout.name.c_str(), reason.c_str());
    all = false;
  }
  return all;
}

bool has_libraries() {
  const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
  const bool is_set = folders && *folders;
  if (!is_set) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return is_set;
}

TEST_CASE("cuDNN accepts the descriptions of every phase, precision and layout") {
  if (!has_libraries()) return;
  for (const char* precision :
       {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8"})
    for (const ConvPhase phase : kPhases) {
      CAPTURE(precision);
      const Conv conv = example_conv(precision, phase);
      if (conv.precision.precision == Precision::kInt8 && phase != ConvPhase::kForward) continue;
      CHECK(run_in_process_with_driver([&] {
        return cudnn_accepts_all_layouts(conv) && cudnn_accepts_all_layouts(in_3d(conv)) &&
               cudnn_accepts_all_layouts(in_groups(conv));
      }));
    }
}

TEST_CASE("cuDNN accepts the descriptions of int8 with scaled 8-bit outputs") {
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([] {
    return cudnn_accepts_all_layouts(with_8_bit_output(example_conv("int8", ConvPhase::kForward)));
  }));
}

TEST_CASE("cuDNN rejects a convolution with wrong output dimensions and gives its reason") {
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([] {
    ConvLayout layout = conv_layouts(example_conv("half", ConvPhase::kForward), "nhwc", true)[0];
    layout.y.sizes[2] += 1;
    return refusal_message(layout).find("BAD_PARAM") != std::string::npos;
  }));
}

}  // namespace
}  // namespace deepbench::cuda_test
