// Eigen's products with 64-byte vectors. The build compiles only this file for AVX-512.
#if defined(__AVX512F__)

#define Eigen EigenAvx512
#include "ops/sparse_gemm/eigen_loops.hpp"

namespace deepbench::cpu {

const EigenProducts kEigenAvx512 = products_of("avx512");

}  // namespace deepbench::cpu

#endif
