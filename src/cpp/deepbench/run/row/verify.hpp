// Compares the outputs of a kernel with the reference of its operation: scans every output,
// compares sampled outputs one by one, and compares all of them by projection. Runs before and
// after the timed loop, on the same buffers and with the same algorithm.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/sum_of_calls.hpp"

namespace deepbench {

struct Verification {
  enum class State { kSkipped, kPassed, kFailed };
  State state = State::kSkipped;
  std::string what;      // the scope of the comparison
  std::string reason;    // why verification failed or was skipped
  uint64_t checked = 0;  // outputs compared one by one
  uint64_t outputs = 0;
  double worst = 0;         // largest error as a share of its bound
  std::string worst_check;  // which check found it; "": no check compared anything within a bound
  // Seed of the compared places and of the projections' weights; 0: none was drawn.
  uint64_t seed = 0;
  // The kernel's facts about its outputs that differ from the operation's defaults.
  Attributes conditions{};
};

// The kernel's facts about its outputs: beta, accumulator, fill.OPERAND. Throws RowFailure for a
// condition that the operation does not permit for this problem, because verification would then
// accept outputs that the problem does not have.
DEEPBENCH_API Attributes stated_conditions(const Problem& problem, const Attributes& kernel_facts);

// A seed that no plugin can predict and that a double represents exactly.
DEEPBENCH_API uint64_t draw_verification_seed();

class DEEPBENCH_API Verifier {
 public:
  // Makes a kernel of the backend's reference for the same problem.
  using MakeReference = std::function<Kernel()>;

  // Computes the expected outputs, unless they derive from the outputs under test. This is the
  // expensive part, done once for a prepared kernel. `rank` is the number of the process in its
  // group, and `is_repeated` tells that an earlier visit has verified the same algorithm. Throws
  // RowFailure if the reference does.
  Verifier(const Problem& problem, const Attributes& kernel_facts, uint64_t seed,
           const std::string& inputs, uint64_t verification_seed,
           const MakeReference& make_reference, int rank = 0, bool is_repeated = false);

  // Poisons the outputs, so that a call which writes nothing is detected. Never within a timed
  // span.
  static void reset_outputs(Kernel& kernel);

  // Checks, right after reset_outputs(), that the poison is present or, in place, that the outputs
  // hold their first values again: without it the results of an earlier call would pass. The next
  // check() reports the finding.
  void check_reset(Kernel& kernel);

  // Checks the outputs of the calls since reset_outputs(). `when` names the step in messages, such
  // as "before timing". Returns false, with the reason in result(), if any check has failed so far.
  bool check(Kernel& kernel, const std::string& when);

  // Checks a batch among those that are timed, at a fraction of the cost of check(): compares
  // projections, and a few elements of outputs that have none. `number` selects the elements. In
  // place, `calls` calls have been made since reset_outputs(); if their sum is not known, nothing
  // is compared.
  bool check_briefly(Kernel& kernel, uint64_t number, uint64_t calls = 1);

  // Whether every call in place adds the same to the outputs, so that the sum of several calls can
  // be checked.
  bool adds_up() const;
  // Checks the sum of several calls in place since reset_outputs(), and records in the scope
  // whether the sum could be checked.
  bool check_sum(Kernel& kernel, uint64_t calls, const std::string& when);

  // Reads a few of the compared elements of every output, which takes negligible time.
  std::vector<double> read_some(Kernel& kernel) const;
  // Reads from every output as much as is needed to see that it is there: its projections or, if it
  // has none, as many elements.
  void read_briefly(Kernel& kernel) const;

  // Records a finding that is not one of a single check, and returns false.
  bool fail(const std::string& reason);

  const Verification& result() const { return result_; }

 private:
  // The conditions that one output must fulfill.
  struct Output {
    uint32_t number = 0;
    std::string name;  // name in messages, before the figures; empty for an operation's only output
    ExpectedOutput expected;
  };

  struct Slope;
  static Slope slope_of(const std::vector<double>& got, const std::vector<double>& expected,
                        const std::vector<double>& bounds, double bound_share,
                        double max_common_error);

  void compute_expected_outputs(Kernel* computed);
  std::vector<double> read_elements(Kernel& kernel, const Output& output) const;
  double max_untouched_elements(const Kernel& kernel, const ExpectedOutput& expected) const;
  bool check_scan(Kernel& kernel, const Output& output, const std::string& when);
  // Whether all outputs that equal the poison are expected to.
  bool check_poison(Kernel& kernel, const Output& output, uint64_t untouched,
                    const std::string& when);
  bool check_elements(Kernel& kernel, const Output& output, const ExpectedElements& expected,
                      const std::string& when);
  bool compare_elements(const Output& output, const std::vector<double>& got,
                        const ExpectedElements& expected, const std::string& when);
  bool check_part(const Output& output, const std::vector<double>& got, const ExpectedPart& part,
                  const std::string& when);
  bool check_compared_elements(Kernel& kernel, const Output& output, const std::string& when);
  bool check_initial_values(Kernel& kernel, const Output& output);
  // The projections of the output; empty if it has none.
  static std::vector<double> project(Kernel& kernel, const Output& output);
  bool check_projections(const Output& output, const std::vector<double>& got,
                         const std::vector<double>& projections, const std::vector<double>& bounds,
                         const std::string& when);
  bool check_slope(Kernel& kernel, const Output& output, const std::vector<double>& projections,
                   const std::string& when);
  bool judge_slope(const Output& output, const std::string& of, const Slope& slope,
                   const std::string& when);
  static std::vector<double> read_block(Kernel& kernel, const Output& output, uint64_t first,
                                        uint64_t count);
  bool check_block(Kernel& kernel, const Output& output, uint64_t first, uint64_t count,
                   const std::string& when);
  // The sum of calls at `count` of the compared elements, which `number` selects, and in all
  // projections.
  std::optional<SumOfCalls> sum_of(const Kernel& kernel, const Output& output, uint64_t calls,
                                   uint64_t number, uint64_t count) const;
  bool check_sum_of(Kernel& kernel, const Output& output, const SumOfCalls& sum, uint64_t calls,
                    const std::string& when);
  // A random place below `size`: the place `i` of those that `number` selects.
  uint64_t random_place(uint64_t number, uint64_t i, uint64_t size) const;
  std::vector<size_t> random_positions(const ExpectedOutput& expected, uint64_t number,
                                       uint64_t count) const;
  bool check_all_elements(Kernel& kernel, const Output& output, const std::string& when);
  // Returns whether `got` is within `bound` of `expected`, and records the largest share of a
  // bound.
  void record_error(double ratio, const std::string& when);
  bool is_within_bound(double got, double expected, double bound, const std::string& when);

  Problem problem_;
  KernelConditions conditions_;
  std::vector<Output> outputs_;
  Verification result_;
};

}  // namespace deepbench
