// Kernels of one device as one call: a graph of them all.
#pragma once

#include <memory>
#include <vector>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The function of plugin_chain.h.
std::unique_ptr<plugin::Kernel> link_kernels(const std::vector<plugin::Kernel*>& kernels);

}  // namespace deepbench::cuda
