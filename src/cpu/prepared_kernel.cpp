// Makes batches of a library's calls.
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

HostKernel::HostKernel(const CopyPlan& plan, int threads)
    : plan_(plan), rotation_(plan.copies), threads_(threads) {
  if (plan.regime == Regime::kFlush) flusher_.emplace(plan.flush_bytes);
}

void HostKernel::describe(plugin::Sink& sink) const {
  plan_.describe(sink);
  sink.integer("threads", threads_);
}

PreparedKernel::PreparedKernel(std::unique_ptr<Operands> operands,
                               std::unique_ptr<LibraryCall> call, const CopyPlan& plan, int threads)
    : plugin::PreparedKernel<LibraryCall, HostKernel>(
          std::move(operands), [&] { return std::move(call); }, plan, threads) {}

void PreparedKernel::time_batch(const deepbench_request& request, deepbench_batch& batch) {
  const plugin::HostTimer timer;
  LibraryCall& library = call();
  library.begin_batch();
  int failure = 0;
  time_calls(
      request, rotation_, flusher(),
      [&](uint64_t copy) {
        const int status = library.run(copy);
        if (status != 0) failure = status;
      },
      batch);
  batch.host_ns = timer.elapsed_ns();
  if (failure != 0) plugin::failed("the call failed: " + library.error_text(failure));
}

}  // namespace deepbench::cpu
