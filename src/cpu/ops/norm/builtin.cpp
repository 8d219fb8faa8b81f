// Layer, RMS and group normalization by built-in loops. The threads share the sets. Each adds the
// gradients of scale and shift to its own sums; then the threads add up these sums, each for some
// of the columns.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/norm/loops.hpp"
#include "ops/norm/operands.hpp"
#include "prepared_kernel.hpp"
#include "routes.hpp"
#include "thread_team.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kLineElements = kLineBytes / sizeof(float);

// The memory that one thread needs besides the operands, in floats.
struct Scratch {
  explicit Scratch(const Norm& norm) {
    if (norm.precision.c != DEEPBENCH_F32) {
      x.resize(size_t(norm.set_elements())), y.resize(x.size());
      if (norm.is_backward()) dy.resize(x.size());
    }
    dscale.resize(size_t(norm.part_elements(NormPart::kDscale)));
    dshift.resize(size_t(norm.part_elements(NormPart::kDshift)));
  }
  static uint64_t needed_bytes(const Norm& norm) {
    const int64_t converted = norm.precision.c == DEEPBENCH_F32 ? 0 : 3 * norm.set_elements();
    return uint64_t(converted + norm.part_elements(NormPart::kDscale) +
                    norm.part_elements(NormPart::kDshift)) *
           sizeof(float);
  }

  std::vector<float> x, dy, y;  // values of one set, if the operands are not float
  std::vector<float> dscale, dshift;
};

class NormCall final : public LibraryCall {
 public:
  NormCall(NormOperands& operands, int threads)
      : operands_(operands),
        norm_(operands.norm()),
        team_(topology().cpus_for_threads(threads)),
        scratch_(team_.size(), Scratch(norm_)) {
    if (norm_.is_backward()) NormCall::operands_refilled();
  }

  bool has_thread_team() const override { return true; }
  void begin_batch() override { team_.bind_caller(); }

  int run(uint64_t copy) override {
    team_.run([&](size_t member) {
      if (!norm_.is_backward())
        return for_sets(member, [&](int64_t set) { forward(copy, set, member); });
      Scratch& own = scratch_[member];
      std::fill(own.dscale.begin(), own.dscale.end(), 0.0f);
      std::fill(own.dshift.begin(), own.dshift.end(), 0.0f);
      for_sets(member, [&](int64_t set) { backward(copy, set, own); });
      team_.barrier();
      add_up(NormPart::kDscale, copy, member, &Scratch::dscale);
      add_up(NormPart::kDshift, copy, member, &Scratch::dshift);
    });
    return 0;
  }

  void operands_refilled() override {
    if (!norm_.is_backward()) return;
    team_.run([&](size_t member) {
      for_sets(member, [&](int64_t set) {
        store_moments(0, set, moments_of(input(NormPart::kX, 0, set, scratch_[member].x)));
      });
    });
    operands_.replicate_statistics();
  }

 private:
  template <class Visit>
  void for_sets(size_t member, const Visit& visit) const {
    const auto sets = uint64_t(norm_.sets());
    const uint64_t end = part_begin(sets, 1, member + 1, team_.size());
    for (uint64_t set = part_begin(sets, 1, member, team_.size()); set < end; ++set)
      visit(int64_t(set));
  }

  int64_t n() const { return norm_.set_elements(); }
  bool is_float() const { return norm_.precision.c == DEEPBENCH_F32; }
  float* floats(NormPart part, uint64_t copy) const {
    return static_cast<float*>(operands_.at(part, copy));
  }
  // The scale or the shift, from the first column of the elements that `set` normalizes together;
  // null if the problem has none.
  const float* column_values(NormPart part, uint64_t copy, int64_t set) const {
    const float* const all = floats(part, copy);
    return all ? all + first_column(set) : nullptr;
  }
  int64_t first_column(int64_t set) const { return set % norm_.groups * n(); }

  const float* input(NormPart part, uint64_t copy, int64_t set, std::vector<float>& scratch) const {
    if (is_float()) return floats(part, copy) + set * n();
    widen_bfloat16(static_cast<const uint16_t*>(operands_.at(part, copy)) + set * n(), n(),
                   scratch.data());
    return scratch.data();
  }
  float* result(NormPart part, uint64_t copy, int64_t set, Scratch& own) const {
    return is_float() ? floats(part, copy) + set * n() : own.y.data();
  }
  void store_result(NormPart part, uint64_t copy, int64_t set, const Scratch& own) const {
    if (!is_float())
      narrow_to_bfloat16(own.y.data(), n(),
                         static_cast<uint16_t*>(operands_.at(part, copy)) + set * n());
  }

  SetMoments moments_of(const float* x) const {
    return moments(x, n(), norm_.has_mean(), float(Norm::kEpsilon));
  }
  void store_moments(uint64_t copy, int64_t set, SetMoments of) const {
    if (float* const means = floats(NormPart::kMean, copy)) means[set] = of.mean;
    if (float* const spreads = floats(NormPart::kSpread, copy)) spreads[set] = of.deviation;
  }

  void forward(uint64_t copy, int64_t set, size_t member) {
    Scratch& own = scratch_[member];
    const float* const x = input(NormPart::kX, copy, set, own.x);
    const SetMoments of = moments_of(x);
    store_moments(copy, set, of);
    normalize(x, n(), of, column_values(NormPart::kScale, copy, set),
              column_values(NormPart::kShift, copy, set), result(NormPart::kY, copy, set, own));
    store_result(NormPart::kY, copy, set, own);
  }

  void backward(uint64_t copy, int64_t set, Scratch& own) {
    const float* const x = input(NormPart::kX, copy, set, own.x);
    const float* const dy = input(NormPart::kDy, copy, set, own.dy);
    const float* const scale = column_values(NormPart::kScale, copy, set);
    SetMoments of = {0, floats(NormPart::kSpread, copy)[set]};
    if (norm_.has_mean()) of.mean = floats(NormPart::kMean, copy)[set];
    GradientMeans means = gradient_means(x, dy, n(), of, scale);
    if (!norm_.has_mean()) means.h = 0;
    gradient(x, dy, n(), of, means, scale, result(NormPart::kDx, copy, set, own));
    store_result(NormPart::kDx, copy, set, own);
    add_column_gradients(x, dy, n(), of, own.dscale.data() + first_column(set),
                         own.dshift.empty() ? nullptr : own.dshift.data() + first_column(set));
  }

  void add_up(NormPart part, uint64_t copy, size_t member, std::vector<float> Scratch::*sums) {
    float* const to = floats(part, copy);
    if (!to) return;
    const auto columns = uint64_t(norm_.columns);
    const auto begin = int64_t(part_begin(columns, kLineElements, member, team_.size())),
               end = int64_t(part_begin(columns, kLineElements, member + 1, team_.size()));
    std::copy_n((scratch_[0].*sums).data() + begin, end - begin, to + begin);
    for (size_t other = 1; other < team_.size(); ++other)
      add_to((scratch_[other].*sums).data() + begin, end - begin, to + begin);
  }

  NormOperands& operands_;
  const Norm& norm_;
  ThreadTeam team_;
  std::vector<Scratch> scratch_;  // one for each thread
};

class BuiltinNormPlan final : public plugin::TypedPlan<BuiltinNormPlan, Norm> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Norm parse(const plugin::Problem& problem) { return norm_problem(problem); }

  BuiltinNormPlan(const Norm& norm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(norm, options),
        threads_(thread_count(options.threads)),
        copies_(plan_copies(uint64_t(norm.traffic()), options)) {
    if (norm.kind == NormKind::kBatch)
      plugin::unsupported("the built-in loops do not compute norm kind=batch");
    if (norm.precision.c == DEEPBENCH_F16)
      plugin::unsupported("the built-in loops do not compute norm in half");
    if (!candidate.empty()) require_candidate(plugin::kBuiltinLibrary, {kLoop}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(plugin::kBuiltinLibrary), kLoop,
                  memory_bytes(), scratch_bytes(), sink);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLoop}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    auto operands = std::make_unique<NormOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory());
    auto call = std::make_unique<NormCall>(*operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  uint64_t scratch_bytes() const { return uint64_t(threads_) * Scratch::needed_bytes(problem_); }
  uint64_t memory_bytes() const {
    return NormOperands::needed_bytes(problem_, copies_, scratch_bytes());
  }

  const int threads_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& builtin_norm() { return implementation_of_plan<BuiltinNormPlan>(); }

}  // namespace deepbench::cpu
