// Compiles kernels before they are asked for: on disk they are ready for whoever asks.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_cache.hpp"
#include "kernels/sources.hpp"

namespace deepbench::cuda {

// Instances of a file's templates for a device, as function() would compile them one by one. Never
// throws.
void precompile(const std::string& file, const std::vector<std::string>& expressions, int device);

// Those that the cache does not have, several at once. One that does not compile says so when it is
// asked for; where nothing can be kept nothing is done.
void compile_missing(const Source& source, const std::vector<std::string>& expressions,
                     int device_architecture, const KernelCache& cache);

}  // namespace deepbench::cuda
