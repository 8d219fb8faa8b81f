// Rejects problems without calling a library.
#include "ops/conv/conv_checks.hpp"

#include "deepbench/plugin.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {

void require_conv_on_device(const Conv& conv, int device) {
  require_built_in_kernels("conv");
  require_precision_support(conv.precision, device);
  if (conv.precision.precision != Precision::kInt8) return;
  if (conv.x_type != DEEPBENCH_S8)
    plugin::unsupported("cuDNN supports only convolutions of signed 8-bit integers; use x_type=s8");
  if (conv.phase != ConvPhase::kForward)
    plugin::unsupported("cuDNN does not support gradients of 8-bit integer convolutions");
}

}  // namespace deepbench::cuda
