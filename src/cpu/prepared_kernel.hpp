// A prepared call on the CPU: its cache regime and the timing of its calls.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "copies.hpp"
#include "deepbench/backend/implementation.hpp"
#include "deepbench/backend/prepared_kernel.hpp"
#include "deepbench/backend/typed_plan.hpp"
#include "timing.hpp"

namespace deepbench::cpu {

using plugin::ForwardState;
using plugin::Operands;

// The library's part of a kernel.
class LibraryCall : public plugin::LibraryCall {
 public:
  // Makes one call on this copy of the operands. Returns the library's status, 0 for success.
  virtual int run(uint64_t copy) = 0;
  virtual std::string error_text(int status) const { return "status " + std::to_string(status); }

  // Sets the calling thread's thread count and binding, before a batch and outside its time.
  virtual void begin_batch() {}
  // Whether a team of built-in threads makes the call, rather than the threads of OpenMP.
  virtual bool has_thread_team() const { return false; }
};

// A kernel with a cache regime on some number of threads.
class HostKernel : public plugin::Kernel {
 public:
  HostKernel(const CopyPlan& plan, int threads);

  void describe(plugin::Sink& sink) const override;

  int threads() const { return threads_; }
  uint64_t copies() const { return rotation_.copies(); }
  uint64_t last_copy() const { return rotation_.last(); }

 protected:
  void make_current() const {}
  // Nullptr: nothing has to be flushed.
  CacheFlusher* flusher() { return flusher_ ? &*flusher_ : nullptr; }

  const CopyPlan plan_;
  Rotation rotation_;

 private:
  const int threads_;
  std::optional<CacheFlusher> flusher_;
};

class PreparedKernel final : public plugin::PreparedKernel<LibraryCall, HostKernel> {
 public:
  PreparedKernel(std::unique_ptr<Operands> operands, std::unique_ptr<LibraryCall> call,
                 const CopyPlan& plan, int threads);

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override;

  LibraryCall& library_call() const { return call(); }
};

using plugin::describe_plan;
using plugin::implementation_of_plan;
using plugin::plan_if_supported;
using plugin::reject_candidate;
using plugin::require_candidate;

}  // namespace deepbench::cpu
