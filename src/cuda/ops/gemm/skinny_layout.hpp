// The layouts of the built-in kernels for products with few columns. They need no device.
#pragma once

#include "deepbench/backend/gemm_layout.hpp"

namespace deepbench::cuda {

// For 8-bit types: A is transposed and B is not, as in the layout "tn", but only k is padded, to a
// multiple of 16, so that rows are aligned to vectors.
plugin::GemmLayout skinny_layout(const Gemm& problem, const plugin::Options& options);

// For 16-bit types: B is not transposed, A is stored as in the problem, and m and k are padded to
// multiples of 8, so that columns are aligned to vectors.
plugin::GemmLayout skinny_mma_layout(const Gemm& problem, const plugin::Options& options);

}  // namespace deepbench::cuda
