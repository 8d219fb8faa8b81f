// Support for tests that need a device. The names of such tests begin with "gpu: ", so that a run
// can select or exclude them. Without a device, they print the reason and do nothing.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "device.hpp"

namespace deepbench::cuda_test {

// The reason why device 0 cannot be used, or an empty string.
inline const std::string& gpu_unavailable_reason() {
  static const std::string reason = []() -> std::string {
    try {
      return cuda::device_count() > 0 ? "" : "no NVIDIA device";
    } catch (const plugin::Error& error) {
      return error.what();
    }
  }();
  return reason;
}

}  // namespace deepbench::cuda_test

// Must be the first statement of a test case. NOLINTNEXTLINE: it ends the test case.
#define REQUIRE_GPU()                                                                \
  if (!::deepbench::cuda_test::gpu_unavailable_reason().empty()) {                   \
    MESSAGE("nothing tested: " << ::deepbench::cuda_test::gpu_unavailable_reason()); \
    return;                                                                          \
  }
