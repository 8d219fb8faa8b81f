// Elementwise work on a device: every kind and precision against the reference.
#include <doctest/doctest.h>

#include <string>

#include "gpu.hpp"
#include "map_checks.hpp"

namespace deepbench::cuda_test {
namespace {

TEST_CASE("gpu: elementwise work of every kind and precision") {
  REQUIRE_GPU();
  for (const std::string problem :
       {"kind=add rows=1 columns=1", "kind=add rows=17 columns=5903",
        "kind=multiply rows=17 columns=5903", "kind=swiglu rows=17 columns=5903",
        "kind=rotary rows=1 columns=2 dim=2", "kind=rotary rows=70 columns=1280 dim=128",
        "kind=rotary rows=70 columns=60 dim=12"})
    for (const std::string precision : {"float", "half", "bfloat16"})
      check_candidates("elementwise", problem + " precision=" + precision, "builtin", {"uniform"});
}

}  // namespace
}  // namespace deepbench::cuda_test
