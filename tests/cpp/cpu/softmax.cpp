// Softmax through oneDNN: every phase, precision and candidate against the reference, hot and cold,
// from random inputs and from integers that overflow without the maximum.
#include <doctest/doctest.h>

#include <string>

#include "map_checks.hpp"

namespace deepbench::cpu_test {
namespace {

TEST_CASE("softmax: oneDNN computes every phase and precision") {
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string shape : {"rows=1 columns=1", "rows=5 columns=33",
                                      "rows=20 columns=1000", "rows=1 columns=32000"}) {
        const std::string attributes = shape + " phase=" + phase + " precision=" + precision;
        CAPTURE(attributes);
        if (!is_supported("softmax", attributes)) continue;
        for (const std::string inputs : {"uniform", "integers", "ones"}) {
          CAPTURE(inputs);
          CHECK(worst_error_of("softmax", attributes, "", inputs) <= 1);
        }
      }
}

TEST_CASE("softmax: every candidate of oneDNN is a choice, and cold calls rotate") {
  const std::string attributes = "rows=6 columns=100 phase=fwd precision=float";
  const std::vector<std::string> names = candidates("softmax", attributes, "library=onednn");
  REQUIRE_FALSE(names.empty());
  for (const std::string& name : names) {
    CAPTURE(name);
    const Kernel kernel("softmax", attributes, "library=onednn candidate=" + name);
    CHECK(kernel.describe().text("algorithm") == name);
    CHECK(worst_error_of("softmax", attributes, "candidate=" + name, "uniform") <= 1);
  }
  CHECK(worst_error_of("softmax", attributes, "cache=cold", "uniform") <= 1);
  CHECK(plan_status("softmax", attributes, "library=onednn candidate=none").status ==
        DEEPBENCH_INVALID);
}

TEST_CASE("softmax: the plan tells the memory of all arrays") {
  CHECK(memory_needed("softmax", "rows=1000 columns=1000 phase=fwd precision=float") >= 8000000);
  CHECK(memory_needed("softmax", "rows=1000 columns=1000 phase=bwd precision=float") >= 12000000);
}

}  // namespace
}  // namespace deepbench::cpu_test
