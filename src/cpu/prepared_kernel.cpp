// The library-independent part of a prepared call.
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

PreparedKernel::PreparedKernel(std::unique_ptr<Operands> operands,
                               std::unique_ptr<LibraryCall> call, const CopyPlan& plan, int threads)
    : operands_(std::move(operands)),
      call_(std::move(call)),
      plan_(plan),
      rotation_(plan.copies),
      threads_(threads) {
  if (plan.regime == Regime::kFlush) flusher_.emplace(plan.flush_bytes);
}

void PreparedKernel::describe(plugin::Sink& sink) const {
  call_->describe(sink);
  plan_.describe(sink);
  sink.integer("threads", threads_);
  operands_->describe(sink);
}

void PreparedKernel::time_batch(const deepbench_request& request, deepbench_batch& batch) {
  const Clock::time_point entered = Clock::now();
  call_->begin_batch();
  LibraryCall& call = *call_;
  int failure = 0;
  time_calls(
      request, rotation_, flusher_ ? &*flusher_ : nullptr,
      [&](uint64_t copy) {
        const int status = call.run(copy);
        if (status != 0) failure = status;
      },
      batch);
  batch.host_ns = elapsed_ns(entered, Clock::now());
  if (failure != 0) plugin::failed("the call failed: " + call.error_text(failure));
}

void PreparedKernel::read_output(const uint64_t* indices, size_t count, double* values) {
  operands_->read(rotation_.last(), indices, count, values);
}

void PreparedKernel::scan_output(deepbench_scan& scan) {
  const size_t size = scan.struct_size;
  scan = operands_->scan(rotation_.last());
  scan.struct_size = size;
}

void PreparedKernel::project_output(uint64_t rows, uint64_t seed, double* sums) {
  operands_->project(rotation_.last(), rows, seed, sums);
}

deepbench_following PreparedKernel::follow(const plugin::Kernel& other) {
  const auto* prepared = dynamic_cast<const PreparedKernel*>(&other);
  return prepared ? call_->follow(*prepared->call_) : DEEPBENCH_ALONE;
}

}  // namespace deepbench::cpu
