// Softmax on a device: every library, candidate, phase and precision against the reference.
#include <doctest/doctest.h>

#include <string>

#include "gpu.hpp"
#include "map_checks.hpp"

namespace deepbench::cuda_test {
namespace {

TEST_CASE("gpu: softmax by every candidate in both phases and every precision") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string shape : {"rows=1 columns=1", "rows=7 columns=33",
                                      "rows=300 columns=1000", "rows=33 columns=32000"})
        for (const std::string library : {"cudnn", "builtin"})
          check_candidates("softmax", shape + " phase=" + phase + " precision=" + precision,
                           library,
                           phase == "fwd" ? Texts{"uniform", "integers"} : Texts{"uniform"});
}

TEST_CASE("softmax: a plan needs a known library") {
  const ProblemRequest request("softmax", "rows=4 columns=4 phase=fwd precision=float",
                               "library=cublas");
  CHECK(request.plan_status() != DEEPBENCH_OK);
}

}  // namespace
}  // namespace deepbench::cuda_test
