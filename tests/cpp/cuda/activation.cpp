// Activations on a device: every library, kind, phase and precision against the reference.
#include <doctest/doctest.h>

#include <string>

#include "gpu.hpp"
#include "map_checks.hpp"

namespace deepbench::cuda_test {
namespace {

TEST_CASE("gpu: activation of every kind, phase and precision") {
  REQUIRE_GPU();
  for (const std::string kind : {"relu", "gelu", "silu", "sigmoid", "tanh"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string precision : {"float", "half", "bfloat16"})
        for (const std::string elements : {"1", "1003", "100003"})
          for (const std::string library : {"cudnn", "builtin"}) {
            if (kind == "gelu" && library == "cudnn") continue;
            check_candidates("activation",
                             "kind=" + kind + " elements=" + elements + " phase=" + phase +
                                 " precision=" + precision,
                             library, {"uniform"});
          }
}

TEST_CASE("gpu: activation has gelu from the built-in kernel alone") {
  REQUIRE_GPU();
  const std::string problem = "kind=gelu elements=100 phase=fwd precision=float";
  const ProblemRequest refused("activation", problem, "library=cudnn");
  CHECK(refused.plan_status() == DEEPBENCH_UNSUPPORTED);
  CHECK(refused.plan_error().find("gelu") != std::string::npos);
  const KernelRun kernel("activation", problem, "");
  CHECK(kernel.describe().text("library").find("builtin") == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
