// A prepared call of a library, whatever the operation: its operands and the library's part. An
// operation derives from Operands once, and each of its libraries from LibraryCall.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "deepbench/backend/routing.hpp"
#include "kernel.hpp"
#include "operand.hpp"

namespace deepbench::cuda {

// What the passes before a gradient left, in device memory.
struct ForwardState {
  const void* states = nullptr;  // h(t) of every step; nullptr: there was no such pass
  // The gradients of x from there, where they tell more than h(t) on which side of an activation's
  // kink each unit was; otherwise nullptr.
  const void* input_gradients = nullptr;
};

// The library's part of a kernel.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  // Gives one call on this copy of the operands to the stream, without waiting for it. Called
  // within a capture too: nothing here may allocate or synchronise.
  virtual void enqueue(uint64_t copy) = 0;

  // Of a call in which other devices take part: as DeviceKernel's.
  virtual void enqueue_start_barrier() {}
  virtual void enqueue_end_barrier() {}
  virtual void wait(const Stream& stream) { stream.synchronize(); }
  // Where that must be the same for all: a call that is tried, and fails, is not.
  virtual bool can_be_captured() const { return true; }

  virtual ForwardState forward_state() const { return {}; }

  // Of a reference: starts from the other call's kept states, if they are those of a forward pass.
  virtual deepbench_following follow(const LibraryCall& other) {
    (void)other;
    return DEEPBENCH_ALONE;
  }

  // library, algorithm, workspace_bytes, planning_ns and whatever else only the library knows.
  virtual void describe(plugin::Sink& sink) const = 0;
};

// The operands of a call in device memory, and what verification asks of the result. Elements are
// counted in the operation's documented order, whatever the library's layout.
class Operands {
 public:
  virtual ~Operands() = default;

  // in_place, restore_every, padded.*, fill.*, conversions and notes on them.
  virtual void describe(plugin::Sink& sink) const { (void)sink; }
  virtual void restore() {}
  virtual void poison() = 0;
  virtual deepbench_scan scan(uint64_t copy) const = 0;
  virtual void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const = 0;
  virtual void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const = 0;
};

// Those whose result is one matrix on one device.
class MatrixOperands : public Operands {
 public:
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const final;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const final;

 protected:
  explicit MatrixOperands(Stream& stream) : stream_(stream) {}
  virtual Matrix output(uint64_t copy) const = 0;
  virtual const void* restored() const { return nullptr; }  // in place: what restore() brings back

  Stream& stream_;
};

class PreparedKernel final : public DeviceKernel {
 public:
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 std::unique_ptr<LibraryCall> call);
  // The call is made last, when nothing else is left that could fail: of a call in which other
  // ranks take part they are told at once, and nobody waits on a device for one that gave up.
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 const std::function<std::unique_ptr<LibraryCall>()>& make_call);
  ~PreparedKernel() override { release_graphs(); }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison_outputs() override;
  void read_output(const uint64_t* indices, size_t count, double* values) override;
  void scan_output(deepbench_scan& scan) override;
  void project_output(uint64_t rows, uint64_t seed, double* sums) override;
  deepbench_following follow(const plugin::Kernel& other) override;

 protected:
  void enqueue(uint64_t copy) override { call_->enqueue(copy); }
  void enqueue_start_barrier() override { call_->enqueue_start_barrier(); }
  void enqueue_end_barrier() override { call_->enqueue_end_barrier(); }
  void wait() override { call_->wait(device_stream()); }
  bool can_be_captured() const override { return call_->can_be_captured(); }

 private:
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<LibraryCall> call_;  // after operands_: it holds pointers into them
};

// The plan of copies for calls that touch so many bytes on the options' device.
plugin::CopyPlan plan_copies(uint64_t touched_bytes, const plugin::Options& options);

using plugin::if_possible;
using plugin::reject_candidate;
using plugin::require_candidate;

}  // namespace deepbench::cuda
