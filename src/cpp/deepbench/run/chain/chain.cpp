// Prepares, verifies and times a chain.
#include "deepbench/run/chain/chain.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/core/utc_time.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/chain/linked_problem.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/current_failure.hpp"
#include "deepbench/run/row/make_row.hpp"
#include "deepbench/run/row/timed_kernel.hpp"

namespace deepbench {
namespace {

// A batch has at most about this many calls of kernels, since a backend may keep it as one graph.
constexpr uint64_t kMaxKernelCalls = 4096;

class Chain {
 public:
  Chain(const RowContext& context, const ChainRequest& request, const RunOptions& options, Row& row)
      : context_(context), options_(options), row_(row) {
    prepare(request);
    verify("before timing");
    measure(request);
    verify("after timing");
  }

 private:
  void prepare(const ChainRequest& request) {
    Stopwatch watch;
    uint64_t bytes = 0;
    for (size_t i = 0; i < request.problems.size(); ++i) {
      problems_.emplace_back(context_.backend, request.problems[i], options_,
                             uint64_t(request.calls_of(i)));
      bytes += problems_.back().memory_bytes();
    }
    require_available_memory(double(bytes), context_);
    const uint64_t seed =
        options_.verify_seed > 0 ? uint64_t(options_.verify_seed) : draw_verification_seed();
    row_.verification.seed = options_.verify ? seed : 0;
    for (LinkedProblem& problem : problems_) problem.prepare(seed);
    std::vector<const Kernel*> calls;
    for (const size_t index : request.order) calls.push_back(&problems_[index].kernel());
    timed_.emplace(context_, options_, context_.backend.chain(calls), row_.stages);
    for (const LinkedProblem& problem : problems_)
      if (const uint64_t chains = problem.chains_between_restores(); chains > 0)
        chains_between_restores_ = std::min(chains_between_restores_, chains);
    row_.stages.prepare_ns += watch.lap_ns();
  }

  // Makes the chain once and verifies what every kernel left.
  void verify(const std::string& when) {
    Stopwatch watch;
    reset_outputs();
    time(1);
    uint64_t verified = 0;
    for (LinkedProblem& problem : problems_) {
      if (!problem.verifies()) continue;
      problem.verify(when);
      ++verified;
    }
    row_.stages.verify_ns += watch.lap_ns();
    if (verified == 0) {
      row_.verification.reason = options_.verify ? "no operation has a reference" : "not asked for";
      return;
    }
    row_.verification.state = Verification::State::kPassed;
    row_.verification.what = "the outputs of " + std::to_string(verified) + " of " +
                             std::to_string(problems_.size()) + " kernels";
  }

  void measure(const ChainRequest& request) {
    Stopwatch watch;
    MeasureOptions how = options_.for_measuring(context_.device);
    const uint64_t most = std::max<uint64_t>(1, kMaxKernelCalls / request.order.size());
    how.max_batch = std::min(how.max_batch, int64_t(std::min(most, chains_between_restores_)));
    timed_->rest_after_sustained_load();
    timed_->begin_watching_waits();
    row_.samples = deepbench::measure([&](uint64_t count) { return time(count); }, how);
    timed_->end_watching_waits();
    row_.stages.measure_ns += watch.lap_ns();
  }

  void reset_outputs() {
    for (LinkedProblem& problem : problems_) problem.reset_outputs();
    chains_since_restore_ = 0;
  }

  // Times a batch of chains, after operands in place are restored if they may overflow.
  Batch time(uint64_t count) {
    if (chains_since_restore_ + count > chains_between_restores_) reset_outputs();
    chains_since_restore_ += count;
    return timed_->time(count);
  }

  const RowContext& context_;
  const RunOptions& options_;
  Row& row_;
  std::deque<LinkedProblem> problems_;
  std::optional<TimedKernel> timed_;  // after problems_, whose kernels it calls
  uint64_t chains_between_restores_ = 1 << 20;
  uint64_t chains_since_restore_ = 0;
};

}  // namespace

ChainRow make_chain(const RowContext& context, const ChainRequest& request,
                    const RunOptions& options) {
  ChainRow chain{{}, int64_t(request.order.size()), int64_t(request.problems.size())};
  Row& row = chain.row;
  row.started = utc_time_text();
  row.backend = context.backend.name();
  row.device = options.device;
  row.device_name = context.device.text("name");
  row.regime.power = options.is_sustained() ? "sustained" : "rested";
  try {
    Chain(context, request, options, row);
    row.observed = observed_clocks(*row.samples);
  } catch (...) {
    const RowFailure failure = current_failure();
    row.status = failure.status();
    row.reason = failure.what();
    if (failure.status() == Status::kIncorrect) {
      row.verification.state = Verification::State::kFailed;
      row.verification.reason = failure.what();
    }
  }
  return chain;
}

}  // namespace deepbench
