// Rejects the problems that cuDNN's fused attention does not compute, or does not compute
// correctly.
#pragma once

#include <string>

#include "deepbench/ops/attention/attention.hpp"

namespace deepbench::cuda {

// Throws plugin::Error (unsupported) with the reason. `version` is cuDNN's version, such as
// "9.19.0".
void require_fused_attention(const Attention& attention, const std::string& version);

}  // namespace deepbench::cuda
