// Checks of kernels that read some arrays and write another one, with the core's expectation.
#pragma once

#include <string>

#include "../ops/worst_error.hpp"
#include "deepbench/core/operation.hpp"
#include "harness.hpp"

namespace deepbench::cpu_test {

// Runs the problem after its operands were refilled with `inputs` from another seed, and returns
// the worst error in units of the bounds. `line`: the operation's name and the attributes.
inline double worst_error_of(const std::string& op, const std::string& attributes,
                             const std::string& options, const std::string& inputs,
                             const std::string& library = "onednn") {
  const Problem problem = Problem::parse(op + " " + attributes);
  KernelConditions conditions;
  conditions.inputs = inputs;
  conditions.seed = 9;
  Kernel kernel(op, problem.str().substr(op.size() + 1),
                "library=" + library + " seed=5 " + options);
  conditions.accumulator = kernel.describe().text("accumulator");
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  REQUIRE(backend().refill(kernel.handle(), inputs.c_str(), 9) == DEEPBENCH_OK);
  kernel.poison();
  CHECK(kernel.scan().untouched == expected.outputs);
  kernel.run(3);
  CHECK(kernel.scan().count == expected.outputs);
  CHECK(kernel.scan().untouched == 0);
  CHECK(kernel.scan().non_finite == 0);
  return testing::worst_error(expected, kernel.read(expected.indices));
}

// Whether the processor has the precision; where not, the reason must say so.
inline bool is_supported(const std::string& op, const std::string& attributes) {
  const Problem problem = Problem::parse(op + " " + attributes);
  const SupportResult result = plan_status(op, problem.str().substr(op.size() + 1));
  if (result.status == DEEPBENCH_OK) return true;
  CHECK(result.status == DEEPBENCH_UNSUPPORTED);
  CHECK(result.error.find("for this processor") != std::string::npos);
  return false;
}

}  // namespace deepbench::cpu_test
