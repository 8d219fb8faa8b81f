// The common part of all kernels on a device: cache regime and timing.
#pragma once

#include <cstdint>
#include <memory>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/plugin.hpp"
#include "device_call.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class CallTimer;

class DeviceKernel : public plugin::Kernel {
 public:
  DeviceKernel(Stream& stream, const plugin::CopyPlan& plan);
  ~DeviceKernel() override;

  void describe(plugin::Sink& sink) const override { plan_.describe(sink); }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) final;

  // The call that time_batch times, which is the same every time.
  virtual DeviceCall& timed_call() = 0;

  Stream& device_stream() const { return stream_; }
  uint64_t copies() const { return plan_.copies; }
  uint64_t last_copy() const;  // copy of the last call, whose output verification reads

 protected:
  void make_current() const { stream_.make_current(); }
  nvidia::cudaStream_t stream() const { return stream_.get(); }
  const plugin::CopyPlan& plan() const { return plan_; }
  // Destroys the graphs, whose nodes point to operands. A derived class calls it before it destroys
  // the operands.
  void release_graphs();

 private:
  Stream& stream_;
  plugin::CopyPlan plan_;
  std::unique_ptr<CallTimer> timer_;
};

}  // namespace deepbench::cuda
