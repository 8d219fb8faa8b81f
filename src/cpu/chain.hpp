// Kernels of the processor as one call.
#pragma once

#include <memory>
#include <vector>

#include "deepbench/plugin.hpp"

namespace deepbench::cpu {

// The function of plugin_chain.h.
std::unique_ptr<plugin::Kernel> link_kernels(const std::vector<plugin::Kernel*>& kernels);

}  // namespace deepbench::cpu
