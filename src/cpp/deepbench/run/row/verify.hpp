// Compares what a kernel wrote with what its operation expects: every output scanned, sampled
// outputs one by one, the whole by projection. Run before and after the timed loop, on the same
// buffers and with the same algorithm.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {

struct Verification {
  enum class State { kSkipped, kPassed, kFailed };
  State state = State::kSkipped;
  std::string what;      // what was compared
  std::string reason;    // why it failed, or was skipped
  uint64_t checked = 0;  // outputs compared one by one
  uint64_t outputs = 0;
  double worst = 0;  // largest error as a share of its bound
};

class DEEPBENCH_API Verifier {
 public:
  // Makes a kernel of the backend's reference for the same problem.
  using MakeReference = std::function<Kernel()>;

  // Computes the expectation, where it does not follow from the output under test: the costly
  // part, done once for a prepared kernel. Throws RowFailure if the reference does.
  Verifier(const Problem& problem, const Attributes& kernel_facts, uint64_t seed,
           const std::string& inputs, const MakeReference& make_reference);

  // Makes the outputs such that a call which writes nothing will be seen. Outside every span.
  static void reset_outputs(Kernel& kernel);

  // Right after reset_outputs(), once a call was made: whether the poison is there, without which
  // old results would pass. What is found is told by the next check().
  void check_reset(Kernel& kernel);

  // Looks at the outputs of the calls made since reset_outputs(). `when` is "before timing" or so.
  // False, with the reason in result(), once anything was wrong.
  bool check(Kernel& kernel, const std::string& when);

  const Verification& result() const { return result_; }

 private:
  void expect(ComputedOutput* computed);
  double max_untouched(const Kernel& kernel) const;
  bool check_scan(Kernel& kernel, const std::string& when);
  bool check_elements(Kernel& kernel, const std::string& when);
  bool check_projection(Kernel& kernel, const std::string& when);
  bool check_all_elements(Kernel& kernel, const std::string& when);
  bool fail(const std::string& reason);
  // Whether `got` is within `bound` of `expected`; keeps the worst share.
  bool within(double got, double expected, double bound);

  Problem problem_;
  KernelConditions conditions_;
  ExpectedOutput expected_;
  Verification result_;
};

}  // namespace deepbench
