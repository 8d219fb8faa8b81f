// Checks the requirements of a grouped_gemm on a device, and plans its copies.
#include "ops/grouped_gemm/operands.hpp"

#include <string>

#include "device.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {

void require_grouped_gemm_on_device(const GroupedGemm& problem, int device) {
  if (size_of(problem.precision.a) == 1)
    plugin::unsupported("cuBLAS does not compute grouped_gemm in " +
                        std::string(problem.precision.name));
  require_built_in_kernels("grouped_gemm");
  require_precision_support(problem.precision, device);
}

Gemm product_of_group(const GroupedGemm& problem, int64_t group) {
  Gemm gemm;
  gemm.m = problem.n, gemm.n = problem.rows_of(group), gemm.k = problem.k;
  gemm.trans_a = true;
  gemm.precision = problem.precision;
  gemm.b_type = problem.precision.b;
  return gemm;
}

plugin::CopyPlan plan_copies(const GroupedGemm& problem, const plugin::Options& options) {
  const uint64_t bytes = GroupedGemmOperands::touched_bytes(problem);
  return plugin::mark_schedule_sensitive(plan_copies(bytes, options), bytes,
                                         device_facts(options.device).l2_bytes);
}

}  // namespace deepbench::cuda
