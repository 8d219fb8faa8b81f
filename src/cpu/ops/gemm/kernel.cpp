// The library-independent part of a prepared matrix product.
#include "ops/gemm/kernel.hpp"

namespace deepbench::cpu {

GemmKernel::GemmKernel(std::unique_ptr<GemmOperands> operands, std::unique_ptr<GemmCall> call,
                       const CopyPlan& plan, int threads)
    : operands_(std::move(operands)),
      call_(std::move(call)),
      plan_(plan),
      rotation_(plan.copies),
      threads_(threads) {
  if (plan.regime == Regime::kFlush) flusher_.emplace(plan.flush_bytes);
}

void GemmKernel::describe(plugin::Sink& sink) const {
  const GemmStorage& storage = operands_->storage();
  call_->describe(sink);
  plan_.describe(sink);
  sink.integer("threads", threads_);
  if (storage.output == Output::kInPlace) {
    sink.integer("in_place", 1);
    sink.integer("restore_every", operands_->calls_in_range());
  }
  if (storage.a_type == DEEPBENCH_S7) {
    sink.text("fill.a", "s7");
    sink.text("note.inputs",
              "A holds values in [-64, 63]: without VNNI the products of 8-bit numbers pass "
              "through 16-bit sums, which the full range would saturate");
  }
}

void GemmKernel::time_batch(const deepbench_request& request, deepbench_batch& batch) {
  const Clock::time_point entered = Clock::now();
  call_->enter();
  GemmCall& call = *call_;
  int failure = 0;
  time_calls(
      request, rotation_, flusher_ ? &*flusher_ : nullptr,
      [&](uint64_t copy) {
        const int status = call.run(copy);
        if (status != 0) failure = status;
      },
      batch);
  batch.host_ns = elapsed_ns(entered, Clock::now());
  if (failure != 0) plugin::failed("the matrix product failed: " + call.error_text(failure));
}

void GemmKernel::read_output(const uint64_t* indices, size_t count, double* values) {
  operands_->read(rotation_.last(), indices, count, values);
}

void GemmKernel::scan_output(deepbench_scan& scan) {
  const size_t size = scan.struct_size;
  scan = operands_->scan(rotation_.last());
  scan.struct_size = size;
}

void GemmKernel::project_output(uint64_t rows, uint64_t seed, double* sums) {
  operands_->project(rotation_.last(), rows, seed, sums);
}

void unknown_candidate(const std::string& library, const std::string& candidate) {
  plugin::invalid(library + " has no candidate '" + candidate + "' for this problem");
}

}  // namespace deepbench::cpu
