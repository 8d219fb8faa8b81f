// The requirements that all gemm libraries share.
#include "ops/gemm/gemm_call.hpp"

#include "requirements.hpp"

namespace deepbench::cuda {

void require_gemm_on_device(const Gemm& gemm, int device) {
  require_built_in_kernels("gemm");
  require_precision_support(gemm.precision, device);
  if (gemm.is_int8() && gemm.b_type != DEEPBENCH_S8)
    plugin::unsupported("cuBLAS supports only signed 8-bit integers; use b_type=s8");
}

}  // namespace deepbench::cuda
