// The common part of all kernels on a device.
#include "kernel.hpp"

#include "timing.hpp"

namespace deepbench::cuda {

DeviceKernel::DeviceKernel(Stream& stream, const plugin::CopyPlan& plan)
    : stream_(stream), plan_(plan), timer_(std::make_unique<CallTimer>(stream, plan)) {}

DeviceKernel::~DeviceKernel() = default;

void DeviceKernel::time_batch(const deepbench_request& request, deepbench_batch& batch) {
  stream_.make_current();
  timer_->time(timed_call(), request, batch);
}

void DeviceKernel::release_graphs() { timer_.reset(); }

uint64_t DeviceKernel::last_copy() const { return timer_->last_copy(); }

}  // namespace deepbench::cuda
