// Compiles kernels into the disk cache before they are requested.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepbench/backend/kernel_cache.hpp"
#include "kernels/sources.hpp"

namespace deepbench::cuda {

// Compiles instances of a file's templates for a device, as function() would compile them one by
// one. Returns the time that this took, 0 if nothing was compiled. Never throws.
double precompile(const std::string& file, const std::vector<std::string>& expressions, int device);

// Compiles, in parallel, the instances that the cache does not contain. An instance that does not
// compile reports its error when it is requested. If the cache cannot be written, the function does
// nothing. Returns the number of instances that were missing.
size_t compile_missing(const Source& source, const std::vector<std::string>& expressions,
                       int device_architecture, const plugin::KernelCache& cache);

}  // namespace deepbench::cuda
