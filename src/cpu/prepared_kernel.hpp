// A prepared call, whatever the operation and the library: its operands, its cache regime, the
// library's part.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "copies.hpp"
#include "deepbench/backend/routing.hpp"
#include "deepbench/plugin.hpp"
#include "timing.hpp"

namespace deepbench::cpu {

// The library's part of a kernel.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  // One call on this copy of the operands. Returns the library's status, 0 if it worked.
  virtual int run(uint64_t copy) = 0;
  virtual std::string error_text(int status) const { return "status " + std::to_string(status); }

  // What a forward pass before this call kept for it: rnn's h(t) as [t][n][unit], of the problem's
  // precision; nullptr if there was none.
  virtual const void* forward_states() const { return nullptr; }
  // From here on starts from what `other` kept, if that is what the problem gives, up to rounding.
  virtual deepbench_following follow(const LibraryCall& other) {
    (void)other;
    return DEEPBENCH_ALONE;
  }

  // Before a batch, outside the time: the calling thread's thread count and binding.
  virtual void begin_batch() {}

  // library, algorithm, workspace_bytes and whatever else only the library knows.
  virtual void describe(plugin::Sink& sink) const = 0;
};

// The operands of a call, and what verification asks of the result. Elements are counted in the
// operation's documented order, whatever the library's layout.
class Operands {
 public:
  virtual ~Operands() = default;

  // in_place, restore_every, fill.* and notes on them.
  virtual void describe(plugin::Sink& sink) const { (void)sink; }
  virtual void restore() {}
  virtual void poison() = 0;
  virtual deepbench_scan scan(uint64_t copy) const = 0;
  virtual void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const = 0;
  virtual void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const = 0;
};

class PreparedKernel final : public plugin::Kernel {
 public:
  PreparedKernel(std::unique_ptr<Operands> operands, std::unique_ptr<LibraryCall> call,
                 const CopyPlan& plan, int threads);

  void describe(plugin::Sink& sink) const override;
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override;
  void restore() override { operands_->restore(); }
  void poison_outputs() override { operands_->poison(); }
  void read_output(const uint64_t* indices, size_t count, double* values) override;
  void scan_output(deepbench_scan& scan) override;
  void project_output(uint64_t rows, uint64_t seed, double* sums) override;
  deepbench_following follow(const plugin::Kernel& other) override;

 private:
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<LibraryCall> call_;  // after operands_: it holds pointers into them
  CopyPlan plan_;
  Rotation rotation_;
  std::optional<CacheFlusher> flusher_;
  int threads_;
};

using plugin::if_possible;
using plugin::reject_candidate;
using plugin::require_candidate;

}  // namespace deepbench::cpu
