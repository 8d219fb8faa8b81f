// Plans the copies for a device.
#include "prepared_kernel.hpp"

#include "device.hpp"

namespace deepbench::cuda {

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
