// A prepared call of a library on a device, and operands whose result is one matrix.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/prepared_kernel.hpp"
#include "deepbench/backend/routing.hpp"
#include "deepbench/backend/typed_plan.hpp"
#include "device_memory.hpp"
#include "kernel.hpp"

namespace deepbench::cuda {

using plugin::ForwardState;
using plugin::Operands;

// The library's part of a kernel.
class LibraryCall : public plugin::LibraryCall {
 public:
  // Enqueues one call on this copy of the operands on the stream, without waiting for it. A capture
  // may be in progress: the function must neither allocate nor synchronise.
  virtual void enqueue(uint64_t copy) = 0;

  // For calls in which other devices take part, as in DeviceKernel.
  virtual void enqueue_start_barrier() {}
  virtual void enqueue_end_barrier() {}
  virtual void wait(const Stream& stream) { stream.synchronize(); }
  // Whether time_batch tries to capture the call. Calls of several ranks return false where all
  // ranks must be timed in the same way: a capture that fails on one rank falls back there alone.
  virtual bool can_be_captured() const { return true; }
};

// Operands whose output is one matrix on one device.
class MatrixOperands : public plugin::OutputOperands<DeviceMemory> {
 protected:
  explicit MatrixOperands(Stream& stream) : OutputOperands(DeviceMemory(stream)), stream_(stream) {}

  Stream& stream_;
};

class PreparedKernel final : public plugin::PreparedKernel<LibraryCall, DeviceKernel> {
 public:
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 std::unique_ptr<LibraryCall> call);
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 const std::function<std::unique_ptr<LibraryCall>()>& make_call);
  ~PreparedKernel() override { release_graphs(); }

 protected:
  void enqueue(uint64_t copy) override { call().enqueue(copy); }
  void enqueue_start_barrier() override { call().enqueue_start_barrier(); }
  void enqueue_end_barrier() override { call().enqueue_end_barrier(); }
  void wait() override { call().wait(device_stream()); }
  bool can_be_captured() const override { return call().can_be_captured(); }
};

// The plan of copies for calls that touch this many bytes on the device in the options.
plugin::CopyPlan plan_copies(uint64_t touched_bytes, const plugin::Options& options);

using plugin::describe_plan;
using plugin::if_possible;
using plugin::planned_by;
using plugin::reject_candidate;
using plugin::require_candidate;

}  // namespace deepbench::cuda
