// The common part of all kernels on a device: cache regime and timing. An operation derives from it
// and enqueues one call on the stream.
#pragma once

#include <cstdint>
#include <memory>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/plugin.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class CallTimer;

class DeviceKernel : public plugin::Kernel {
 public:
  DeviceKernel(Stream& stream, const plugin::CopyPlan& plan);
  ~DeviceKernel() override;

  void describe(plugin::Sink& sink) const override { plan_.describe(sink); }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) final;

 protected:
  // Enqueues one call on this copy of the operands, without waiting for it. A capture may be in
  // progress: the function must neither allocate nor synchronise.
  virtual void enqueue(uint64_t copy) = 0;

  // For calls in which other devices take part; all but wait() may be captured. Work that is
  // enqueued after enqueue_start_barrier() starts when all devices have reached it. Work after
  // enqueue_end_barrier() starts when all devices have finished the work before it.
  virtual void enqueue_start_barrier() {}
  virtual void enqueue_end_barrier() {}
  virtual void wait();  // for all enqueued work
  virtual bool can_be_captured() const { return true; }

  void make_current() const { stream_.make_current(); }
  nvidia::cudaStream_t stream() const { return stream_.get(); }
  const Stream& device_stream() const { return stream_; }
  const plugin::CopyPlan& plan() const { return plan_; }
  // Destroys the graphs, whose nodes point to operands. A derived class calls it before it destroys
  // the operands.
  void release_graphs();

  uint64_t last_copy() const;  // of the last call; verification reads its output

 private:
  Stream& stream_;
  plugin::CopyPlan plan_;
  std::unique_ptr<CallTimer> timer_;
};

}  // namespace deepbench::cuda
