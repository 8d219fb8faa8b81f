// Descriptions of convolutions to the real cuDNN without a device, which are the first step of a
// plan. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders of the libraries, and so does
// DEEPBENCH_CUDA_LIBRARY_PATH for cudnn().
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "deepbench/core/precision.hpp"
#include "ops/conv/cudnn_graph.hpp"
#include "real_cudnn.hpp"

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
