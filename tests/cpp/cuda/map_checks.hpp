// Checks of kernels on a device that read some arrays and write another one, with the core's
// expectation.
#pragma once

#include <string>
#include <vector>

#include "../ops/worst_error.hpp"
#include "deepbench/core/operation.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {

using Texts = std::vector<std::string>;

// Runs every candidate of the library, from operands that were refilled with each of `inputs`.
// `attributes`: all of the problem's.
inline void check_candidates(const std::string& op, const std::string& attributes,
                             const std::string& library, const Texts& inputs) {
  CAPTURE(attributes);
  CAPTURE(library);
  const Problem problem = Problem::parse(op + " " + attributes);
  const ProblemRequest request(op, attributes, "library=" + library);
  for (const std::string& candidate : request.candidates()) {
    CAPTURE(candidate);
    KernelRun kernel(op, attributes, "library=" + library + " candidate=" + candidate);
    INFO(kernel.error());
    CHECK(kernel.status() == DEEPBENCH_OK);
    if (!kernel.handle()) continue;
    for (const std::string& mode : inputs) {
      CAPTURE(mode);
      KernelConditions conditions;
      conditions.inputs = mode;
      conditions.seed = 9;
      conditions.accumulator = kernel.describe().text("accumulator");
      const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
      REQUIRE(table().refill(kernel.handle(), mode.c_str(), 9) == DEEPBENCH_OK);
      kernel.poison();
      CHECK(kernel.scan().untouched == expected.outputs);
      kernel.call(3);
      CHECK(kernel.scan().untouched == 0);
      CHECK(kernel.scan().non_finite == 0);
      std::vector<double> got(expected.indices.size());
      REQUIRE(table().read_output(kernel.handle(), 0, expected.indices.data(), got.size(),
                                  got.data()) == DEEPBENCH_OK);
      CHECK(testing::worst_error(expected, got) <= 1);
    }
  }
}

}  // namespace deepbench::cuda_test
