// Verification of matrices, and plans of copies for a device.
#include "prepared_kernel.hpp"

#include "device.hpp"

namespace deepbench::cuda {

deepbench_scan MatrixOperands::scan(uint64_t copy) const {
  return cuda::scan(output(copy), restored(), stream_);
}

void MatrixOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  cuda::project(output(copy), rows, seed, sums, stream_);
}

void MatrixOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                          double* values) const {
  cuda::read(output(copy), indices, count, values, stream_);
}

PreparedKernel::PreparedKernel(Stream& stream, const plugin::CopyPlan& plan,
                               std::unique_ptr<Operands> operands,
                               const std::function<std::unique_ptr<LibraryCall>()>& make_call)
    : plugin::PreparedKernel<LibraryCall, DeviceKernel>(std::move(operands), make_call, stream,
                                                        plan) {}

PreparedKernel::PreparedKernel(Stream& stream, const plugin::CopyPlan& plan,
                               std::unique_ptr<Operands> operands,
                               std::unique_ptr<LibraryCall> call)
    : PreparedKernel(stream, plan, std::move(operands), [&] { return std::move(call); }) {}

plugin::CopyPlan plan_copies(uint64_t touched_bytes, const plugin::Options& options) {
  const DeviceFacts& device = device_facts(options.device);
  return plugin::plan_copies(touched_bytes, options, device.l2_bytes, device.memory_bytes);
}

}  // namespace deepbench::cuda
