// Eigen's products by 64-byte vectors. The build compiles this file, and nothing else, for them.
#if defined(__AVX512F__)

#define Eigen EigenAvx512
#include "ops/sparse_gemm/eigen_loops.hpp"

namespace deepbench::cpu {

const EigenProducts kEigenAvx512 = products_of("avx512");

}  // namespace deepbench::cpu

#endif
