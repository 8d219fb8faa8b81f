// For tests that need a device. Their names begin with "gpu: ", so that a run can choose or leave
// them; without a device they say why they did nothing.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "device.hpp"

namespace deepbench::cuda_test {

// Why device 0 cannot be used; empty if it can.
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

// First in a test case. NOLINTNEXTLINE: it ends the test case.
#define REQUIRE_GPU()                                                                \
  if (!::deepbench::cuda_test::gpu_unavailable_reason().empty()) {                   \
    MESSAGE("nothing tested: " << ::deepbench::cuda_test::gpu_unavailable_reason()); \
    return;                                                                          \
  }
