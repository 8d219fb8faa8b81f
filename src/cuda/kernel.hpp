// A prepared call on a device, whatever the operation: its cache regime and its timing. An
// operation derives from it and says how one call is given to the stream.
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
  // Gives one call of this copy of the operands to the stream, without waiting for it. Called
  // within a capture too: nothing here may allocate or synchronise.
  virtual void enqueue(uint64_t copy) = 0;

  // Where other devices take part; within a capture too, all but wait(). enqueue_start_barrier():
  // what is given to the stream afterwards begins when all are here; enqueue_end_barrier(): when
  // all are done with what was before.
  virtual void enqueue_start_barrier() {}
  virtual void enqueue_end_barrier() {}
  virtual void wait();  // for all that was given to the stream
  virtual bool can_be_captured() const { return true; }

  void make_current() const { stream_.make_current(); }
  nvidia::cudaStream_t stream() const { return stream_.get(); }
  const Stream& device_stream() const { return stream_; }
  const plugin::CopyPlan& plan() const { return plan_; }
  // Forgets the graphs, whose nodes point to operands: for whoever derives, before those go.
  void release_graphs();

  uint64_t last_copy() const;  // of the last call: what verification reads

 private:
  Stream& stream_;
  plugin::CopyPlan plan_;
  std::unique_ptr<CallTimer> timer_;
};

}  // namespace deepbench::cuda
