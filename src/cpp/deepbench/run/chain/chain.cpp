// Prepares, verifies and times a chain.
#include "deepbench/run/chain/chain.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/core/utc_time.hpp"
#include "deepbench/fill.h"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/chain/chain_audit.hpp"
#include "deepbench/run/chain/linked_problem.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/current_failure.hpp"
#include "deepbench/run/row/make_row.hpp"
#include "deepbench/run/row/timed_kernel.hpp"

namespace deepbench {
namespace {

// A batch has at most about this many calls of kernels, since a backend may keep it as one graph.
// Of half as many no disturbance hides that they are not made.
constexpr uint64_t kMaxKernelCalls = 4096, kManyKernelCalls = kMaxKernelCalls / 2;
// In each of these ranges a random batch of the measuring loop is verified briefly.
constexpr uint64_t kSpotCheckRanges[] = {2, 6, 32};
constexpr uint32_t kSpotCheckStream = 22;  // random stream that draws these batches

class Chain {
 public:
  Chain(const RowContext& context, const ChainRequest& request, const RunOptions& options, Row& row)
      : context_(context), options_(options), row_(row) {
    prepare(request);
    verify(1, "before timing");
    const MeasureOptions how = measure(request);
    const VerifiedChain verified = verify(row_.samples->batch, "after timing");
    audit(request, how, verified);
  }

 private:
  void prepare(const ChainRequest& request) {
    Stopwatch watch;
    for (size_t i = 0; i < request.problems.size(); ++i)
      problems_.emplace_back(context_.backend, request.problems[i], options_, request.calls[i]);
    require_memory();
    const uint64_t seed =
        options_.verify_seed > 0 ? uint64_t(options_.verify_seed) : draw_verification_seed();
    row_.verification.seed = options_.verify ? seed : 0;
    std::vector<const Kernel*> in_place;
    for (LinkedProblem& problem : problems_) {
      problem.prepare(seed);
      if (!problem.in_place()) continue;
      chains_between_restores_ =
          std::min(chains_between_restores_, problem.chains_between_restores());
      if (problem.verifies()) in_place.push_back(&problem.kernel());
    }
    std::vector<const Kernel*> calls;
    for (const size_t index : request.order) calls.push_back(&problems_[index].kernel());
    timed_.emplace(context_, options_, context_.backend.chain(calls), row_.stages);
    if (!in_place.empty())
      single_calls_.emplace(context_, options_, context_.backend.chain(in_place), row_.stages);
    row_.stages.prepare_ns += watch.lap_ns();
  }

  // All kernels hold their memory at the same time, and so do their verifications.
  void require_memory() const {
    double on_device = 0, on_host = 0;
    for (const LinkedProblem& problem : problems_) {
      const VerificationMemory verification = problem.verification_memory();
      on_device += double(problem.memory_bytes()) + verification.device_bytes;
      on_host += verification.host_bytes;
    }
    require_available_memory(on_device, on_host, context_);
  }

  // Makes a batch of chains and verifies what every kernel left. In place, that is the sum of all
  // calls, which is known for some inputs only; the outputs are therefore verified once more after
  // single calls of these kernels. Otherwise a batch after the samples is made twice,
  // because the first one may suffer from caches that poisoning has cooled.
  VerifiedChain verify(uint64_t chains, const std::string& when) {
    Stopwatch watch;
    VerifiedChain verified;
    reset_and_check();
    verified.call_ns = time(chains).per_call_ns();
    if (row_.samples) {
      if (!single_calls_) verified.call_ns = std::max(verified.call_ns, time(chains).per_call_ns());
      verified.reading_ns = make_audit().time_reading();
    }
    for (LinkedProblem& problem : problems_) {
      if (!problem.verifies()) continue;
      if (problem.in_place())
        problem.verify_sum(chains, when);
      else
        problem.verify(when);
    }
    if (single_calls_) verify_single_calls(when);
    describe_verification();
    row_.stages.verify_ns += watch.lap_ns();
    return verified;
  }

  void verify_single_calls(const std::string& when) {
    reset_and_check();
    single_calls_->batch(1);
    for (LinkedProblem& problem : problems_)
      if (problem.verifies() && problem.in_place()) problem.verify(when);
    reset_outputs();
  }

  void describe_verification() {
    Verification& all = row_.verification;
    uint64_t verified = 0;
    all.checked = all.outputs = 0;
    for (const LinkedProblem& problem : problems_) {
      if (!problem.verifies()) continue;
      const Verification& one = problem.verification();
      ++verified;
      all.checked += one.checked;
      all.outputs += one.outputs;
      if (one.worst > all.worst) all.worst = one.worst, all.worst_check = one.worst_check;
    }
    if (verified == 0) {
      all.reason = options_.verify ? "no operation has a reference" : "not asked for";
      return;
    }
    all.state = Verification::State::kPassed;
    all.what = "the outputs of " + std::to_string(verified) + " of " +
               std::to_string(problems_.size()) + " kernels";
  }

  MeasureOptions measure(const ChainRequest& request) {
    Stopwatch watch;
    MeasureOptions how = options_.for_measuring(context_.device);
    const uint64_t most = std::max<uint64_t>(1, kMaxKernelCalls / request.order.size());
    how.max_batch = std::min(how.max_batch, int64_t(std::min(most, chains_between_restores_)));
    timed_->rest_after_sustained_load();
    timed_->begin_watching_waits();
    draw_spot_checks();
    row_.samples = deepbench::measure([&](uint64_t count) { return time_in_loop(count); }, how);
    timed_->end_watching_waits();
    row_.stages.measure_ns += watch.lap_ns();
    return how;
  }

  void draw_spot_checks() {
    if (!options_.verify) return;
    for (size_t i = 0; i + 1 < std::size(kSpotCheckRanges); ++i) {
      const uint64_t begin = kSpotCheckRanges[i], size = kSpotCheckRanges[i + 1] - begin;
      const uint64_t bits = deepbench_bits(row_.verification.seed, kSpotCheckStream, begin);
      spot_checks_.push_back(begin + bits % size);
    }
  }

  Batch time_in_loop(uint64_t count) {
    const uint64_t number = batches_in_loop_++;
    if (std::find(spot_checks_.begin(), spot_checks_.end(), number) == spot_checks_.end())
      return time(count);
    reset_outputs();
    const Batch made = time(count);
    for (LinkedProblem& problem : problems_)
      if (problem.verifies()) problem.verify_briefly(number, count);
    return made;
  }

  ChainAudit make_audit() {
    return ChainAudit(
        *timed_, problems_, [&](uint64_t count) { return time(count); }, [&] { reset_outputs(); });
  }

  // Runs last, because other operands overwrite those of the chain.
  void audit(const ChainRequest& request, const MeasureOptions& how,
             const VerifiedChain& verified) {
    if (!options_.verify) return;
    Stopwatch watch;
    ChainAudit audit = make_audit();
    const uint64_t many = std::max<uint64_t>(2, kManyKernelCalls / request.order.size());
    const bool is_device_shared = context_.device.integer("other_processes", 0) > 0;
    const std::string doubt = audit.doubt(*row_.samples, how, verified, many, is_device_shared);
    if (!doubt.empty()) throw RowFailure(Status::kMistrusted, doubt);
    if (const uint64_t following = audit.verify_other_operands(row_.verification.seed))
      row_.verification.what += ", of which " + std::to_string(following) + " follow the operands";
    row_.stages.verify_ns += watch.lap_ns();
  }

  void reset_and_check() {
    reset_outputs();
    for (LinkedProblem& problem : problems_)
      if (problem.verifies()) problem.check_reset();
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
  std::optional<TimedKernel> timed_;         // after problems_, whose kernels it calls
  std::optional<TimedKernel> single_calls_;  // of the kernels in place
  uint64_t chains_between_restores_ = 1 << 20;
  uint64_t chains_since_restore_ = 0;
  std::vector<uint64_t> spot_checks_;  // numbers of batches in the measuring loop
  uint64_t batches_in_loop_ = 0;
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
