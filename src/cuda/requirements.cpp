// Checks for NVRTC, and for the lowest compute capability of a precision.
#include "requirements.hpp"

#include "device.hpp"
#include "libraries.hpp"

namespace deepbench::cuda {
namespace {

// The required capability as 10 * major + minor; 0 for every device.
int capability_needed(Precision precision) {
  switch (precision) {
    case Precision::kFp8E4m3:
    case Precision::kFp8E5m2:
      return 89;
    case Precision::kBfloat16:
    case Precision::kTf32:
      return 80;
    case Precision::kInt8:
      return 75;
    default:
      return 0;
  }
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace

void require_built_in_kernels(const std::string& op) {
  if (const LibraryReport& nvrtc = report<nvidia::Nvrtc>(); !nvrtc.usable())
    plugin::unsupported(
        op +
        " needs NVRTC to compile the built-in kernels that fill its operands: " + nvrtc.reason);
}

void require_precision_support(const PrecisionInfo& precision, int device) {
  const int capability = device_facts(device).architecture();
  const int needed = capability_needed(precision.precision);
  if (capability < needed)
    plugin::unsupported(std::string(precision.name) + " needs a device of compute capability " +
                        capability_text(needed) + "; this one has " + capability_text(capability));
}

}  // namespace deepbench::cuda
