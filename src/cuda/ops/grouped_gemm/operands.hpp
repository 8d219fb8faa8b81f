// The operands of a grouped_gemm in device memory, and the products of its groups in cuBLAS's
// terms.
#pragma once

#include <memory>
#include <utility>

#include "deepbench/backend/grouped_gemm_operands.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "device_memory.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

using GroupedGemmOperands = plugin::GroupedGemmOperands<DeviceMemory>;

// Throws unsupported if the operands cannot be filled or if the device has no units for the
// precision, and for the precisions of 8 bits.
void require_grouped_gemm_on_device(const GroupedGemm& problem, int device);

// C_g by rows is C_g^T by columns, the product of B_g^T, stored k x n, and A_g^T, stored k x rows:
// its m is the problem's n, and its n is the number of rows. cuBLAS's A is B_g, and its B is A_g.
Gemm product_of_group(const GroupedGemm& problem, int64_t group);

// The copies of the operands. Hot calls whose operands are about as large as the cache are
// sensitive to the schedule.
plugin::CopyPlan plan_copies(const GroupedGemm& problem, const plugin::Options& options);

// Makes the operands and the kernel around the library's call on them. `MakeCall` takes the
// operands and the stream.
template <class MakeCall>
std::unique_ptr<plugin::Kernel> prepare_grouped_gemm(const GroupedGemm& problem,
                                                     const plugin::CopyPlan& copies,
                                                     const plugin::Options& options,
                                                     MakeCall make_call) {
  Stream& stream = Stream::of(options.device);
  auto operands = std::make_unique<GroupedGemmOperands>(
      problem, copies, parse_inputs(options.inputs), options.seed, DeviceMemory(stream));
  std::unique_ptr<LibraryCall> call = make_call(*operands, stream);
  return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
}

}  // namespace deepbench::cuda
