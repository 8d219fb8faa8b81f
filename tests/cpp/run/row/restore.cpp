// Kernels that compute in place: what a call leaves must not pass for the result of the next one,
// in any operation that has an operand in place.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>

#include "deepbench/core/operation.hpp"
#include "deepbench/run/row/verify.hpp"
#include "one_kernel_backend.hpp"

namespace deepbench {
namespace {

constexpr uint64_t kSeed = 1, kVerificationSeed = 77;
constexpr int kRank = 2, kRanks = 4;

// The right values before and after a call.
struct RightValues {
  uint64_t outputs = 0;
  std::function<double(uint64_t index)> initial, result;
};

struct InPlaceKernel final : testing::PlainKernel {
  static inline RightValues right;
  static inline bool restores = true;
  bool called = false;

  void describe(plugin::Sink& sink) const override {
    sink.integer("in_place", 1);
    sink.integer("ranks", kRanks);
  }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    called = true;
    PlainKernel::time_batch(request, batch);
  }
  void restore() override { called = called && !restores; }
  void poison_outputs() override { restore(); }
  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i)
      values[i] = called ? right.result(indices[i]) : right.initial(indices[i]);
  }
  void scan_output(uint32_t, deepbench_scan& scan) override { scan.count = right.outputs; }
};

RightValues right_values(const Problem& problem) {
  KernelConditions conditions;
  conditions.seed = kSeed;
  conditions.verification_seed = kVerificationSeed;
  conditions.rank = kRank;
  conditions.facts.set("ranks", int64_t{kRanks});
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  REQUIRE(expected.initial_values.size() == expected.indices.size());
  std::map<uint64_t, double> initial, result;
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    initial[expected.indices[i]] = expected.initial_values[i];
    result[expected.indices[i]] = expected.values[i];
  }
  const auto exact = expected.exact_values;
  return {expected.outputs, [=](uint64_t index) { return initial.at(index); },
          [=](uint64_t index) {
            double value = 0;
            if (!exact) return result.at(index);
            exact(index, 1, &value);
            return value;
          }};
}

// A call, the reset, and the call that is verified.
std::string reason_of(const Problem& problem, bool restores) {
  InPlaceKernel::restores = restores;
  Kernel kernel = testing::prepare_kernel<InPlaceKernel>(problem);
  Verifier verifier(
      problem, kernel.facts(), kSeed, "uniform", kVerificationSeed, [&]() -> Kernel { throw 0; },
      kRank);
  kernel.time_batch(1);
  Verifier::reset_outputs(kernel);
  verifier.check_reset(kernel);
  kernel.time_batch(1);
  verifier.check(kernel, "now");
  return verifier.result().reason;
}

TEST_CASE("an operand in place that restore does not bring back is found in every operation") {
  for (const std::string line : {
           "gemm m=7 n=5 k=9 precision=half",
           "sparse_gemm m=9 n=5 k=30 sparsity=0.5",
           "all_reduce elements=3000 in_place=yes precision=float",
           "all_reduce elements=1 in_place=yes precision=bfloat16",
           "rnn cell=gru hidden=8 batch=3 timesteps=4 phase=bwd_weights precision=float",
           "rnn cell=vanilla hidden=8 batch=3 timesteps=4 phase=bwd precision=half",
       }) {
    CAPTURE(line);
    const Problem problem = Problem::parse(line);
    InPlaceKernel::right = right_values(problem);
    CHECK_MESSAGE(reason_of(problem, true).empty(), reason_of(problem, true));
    CHECK_MESSAGE(reason_of(problem, false).find("after timing: restore leaves ") == 0,
                  reason_of(problem, false));
  }
}

TEST_CASE("summands that come back to another rank are found") {
  const Problem problem = Problem::parse("all_reduce elements=3000 in_place=yes precision=float");
  InPlaceKernel::right = right_values(problem);
  const auto mine = InPlaceKernel::right.initial;
  InPlaceKernel::right.initial = [=](uint64_t index) { return mine(index) + 1; };
  CHECK(reason_of(problem, true).find("after timing: restore leaves ") == 0);
}

TEST_CASE("gradients of the data hold what a call left until the next one overwrites them") {
  const ExpectedOutput expected = find_operation("rnn").expected_output(
      Problem::parse("rnn cell=gru hidden=8 batch=3 timesteps=4 phase=bwd precision=float"), {});
  const uint64_t weights = 3 * 8 * 8;
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    const bool is_added_to = expected.indices[i] >= expected.outputs - weights;
    CHECK((is_added_to ? expected.initial_values[i] == 0 : std::isnan(expected.initial_values[i])));
  }
}

}  // namespace
}  // namespace deepbench
