// The problems that an operation's name alone stands for, on a device: each is verified as rows
// are.
#include <doctest/doctest.h>

#include <string>

#include "../paths.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/run/session/runner.hpp"
#include "gpu.hpp"

namespace deepbench::cuda_test {
namespace {

// Asserts that rows are verified, and prints their rates.
void run_default_problems(const std::string& op, const std::string& rest) {
  static Runner runner(std::string(testing::stage_folder()) + "/libdeepbench_cuda.so",
                       "ceilings=no samples=5");
  for (const std::string& line : find_operation(op).default_problems({})) {
    const Problem problem = Problem::parse(line + " " + rest);
    const Row row = runner.run(problem.str() + " ; cache=cold", 0);
    INFO(problem.str(), ": ", row.reason, " ", row.verification.reason);
    CHECK(row.status == Status::kOk);
    CHECK(row.verification.state == Verification::State::kPassed);
    if (row.has_rates())
      MESSAGE(problem.str() << ": " << problem.operation().work(problem).bytes / row.median_ns()
                            << " GB/s");
  }
}

TEST_CASE("gpu: default problems of embedding, pool and lrn are verified") {
  REQUIRE_GPU();
  for (const std::string op : {"embedding", "pool", "lrn"})
    for (const std::string rest : {"precision=float", "precision=half"})
      run_default_problems(op, rest);
}

}  // namespace
}  // namespace deepbench::cuda_test
