// A prepared kernel of any operation and library: its operands, the library's call, and the
// functions of verification. A backend derives its LibraryCall and its kernel class from those here
// and adds the timing of calls. An operation derives from Operands once, and each of its libraries
// derives from the backend's LibraryCall. Header-only, for backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// The results of a forward pass for the gradient that follows, at their place in the operands.
struct ForwardState {
  // rnn's h(t) as [t][n][unit], in the problem's precision; nullptr without a forward pass.
  const void* states = nullptr;
  // The gradients of x from the same pass, if they show better than h(t) on which side of an
  // activation's kink each unit was; otherwise nullptr.
  const void* input_gradients = nullptr;
};

// The library's part of a kernel. A backend adds the function that makes one call.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  // Emits the facts of the library that its plan does not know.
  virtual void describe(Sink& sink) const { (void)sink; }

  // Runs after the operands have been refilled. A library that stores operands in a layout of its
  // own converts them again, into the same memory.
  virtual void operands_refilled() {}

  virtual ForwardState forward_state() const { return {}; }
  // Only for a reference: starts from the forward state of `tested` from now on, if up to rounding
  // it is the state that the problem defines.
  virtual deepbench_forward_states adopt_forward_states(const LibraryCall& tested) {
    (void)tested;
    return DEEPBENCH_STATES_UNKNOWN;
  }
};

// The operands of a call, and the functions with which verification examines its outputs. Elements
// are numbered in the order that the operation documents, whatever the library's layout.
class Operands {
 public:
  virtual ~Operands() = default;

  // If there are several outputs, the other functions scan, project or read the one that was
  // selected last.
  virtual uint32_t output_count() const { return 1; }
  virtual void select_output(uint32_t output) { (void)output; }

  // Emits in_place, restore_every, padded.*, fill.*, conversions and the notes about them.
  virtual void describe(Sink& sink) const { (void)sink; }
  virtual void restore() {}
  // Rewrites the operands in place, like plugin.h's refill().
  virtual void refill(const std::string& inputs, uint64_t seed) {
    (void)inputs, (void)seed;
    unsupported("these operands cannot be refilled");
  }
  virtual void poison_outputs() = 0;
  virtual deepbench_scan scan_output(uint64_t copy) const = 0;
  virtual void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const = 0;
  virtual void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                           double* values) const = 0;
};

// A kernel of operands and a library's call. `Call` is the backend's class of calls. `TimedKernel`
// is the backend's class that times calls; it derives from Kernel, describes the cache regime, and
// has last_copy(), the copy of the operands that the last call took, and make_current(), which
// prepares the calling thread for touching operands.
template <class Call, class TimedKernel>
class PreparedKernel : public TimedKernel {
 public:
  // Runs `make_call` last, when nothing else can fail: a call in which other ranks take part
  // reports its failure to them at once, so that no rank waits on its device for a rank that gave
  // up. The remaining arguments are the TimedKernel's.
  template <class... Arguments>
  PreparedKernel(std::unique_ptr<Operands> operands,
                 const std::function<std::unique_ptr<Call>()>& make_call, Arguments&&... arguments)
      : TimedKernel(std::forward<Arguments>(arguments)...),
        operands_(std::move(operands)),
        call_(make_call()) {}

  void describe(Sink& sink) const final {
    call_->describe(sink);
    TimedKernel::describe(sink);
    operands_->describe(sink);
  }
  void restore() final {
    this->make_current();
    operands_->restore();
  }
  void refill(const std::string& inputs, uint64_t seed) final {
    this->make_current();
    operands_->refill(inputs, seed);
    call_->operands_refilled();
  }
  void poison_outputs() final {
    this->make_current();
    operands_->poison_outputs();
  }
  void read_output(uint32_t output, const uint64_t* indices, size_t count, double* values) final {
    select(output);
    operands_->read_output(this->last_copy(), indices, count, values);
  }
  void scan_output(uint32_t output, deepbench_scan& scan) final {
    select(output);
    const size_t size = scan.struct_size;
    scan = operands_->scan_output(this->last_copy());
    scan.struct_size = size;
  }
  void project_output(uint32_t output, uint64_t rows, uint64_t seed, double* sums) final {
    select(output);
    operands_->project_output(this->last_copy(), rows, seed, sums);
  }
  deepbench_forward_states adopt_forward_states(const Kernel& tested) final {
    const auto* const prepared = dynamic_cast<const PreparedKernel*>(&tested);
    if (!prepared) return DEEPBENCH_STATES_UNKNOWN;
    this->make_current();
    return call_->adopt_forward_states(*prepared->call_);
  }

 protected:
  Call& call() const { return *call_; }

 private:
  void select(uint32_t output) const {
    if (output >= operands_->output_count())
      invalid("there is no output " + std::to_string(output));
    operands_->select_output(output);
    this->make_current();
  }

  std::unique_ptr<Operands> operands_;
  std::unique_ptr<Call> call_;  // after operands_: it holds pointers into them
};

}  // namespace deepbench::plugin
