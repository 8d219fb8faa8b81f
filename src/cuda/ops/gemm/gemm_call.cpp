// What a matrix product needs, whatever the library.
#include "ops/gemm/gemm_call.hpp"

#include "requirements.hpp"

namespace deepbench::cuda {

void require_gemm_on_device(const Gemm& gemm, int device) {
  require_built_in_kernels("gemm");
  require_precision_support(gemm.precision, device);
  if (gemm.precision.precision == Precision::kInt8 && gemm.b_type != DEEPBENCH_S8)
    plugin::unsupported("cuBLAS multiplies signed 8-bit integers only: use b_type=s8");
}

}  // namespace deepbench::cuda
