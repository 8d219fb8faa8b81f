// Eigen's products with 32-byte vectors. The build compiles only this file for AVX2.
#if defined(__AVX2__)

#define Eigen EigenAvx2
#include "ops/sparse_gemm/eigen_loops.hpp"

namespace deepbench::cpu {

const EigenProducts kEigenAvx2 = products_of("avx2");

}  // namespace deepbench::cpu

#endif
