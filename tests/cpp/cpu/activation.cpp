// Activations through oneDNN: every kind, phase, precision and candidate against the reference.
#include <doctest/doctest.h>

#include <string>

#include "map_checks.hpp"

namespace deepbench::cpu_test {
namespace {

constexpr const char* kKinds[] = {"relu", "gelu", "silu", "sigmoid", "tanh"};

TEST_CASE("activation: oneDNN computes every kind, phase and precision") {
  for (const std::string kind : kKinds)
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string precision : {"float", "half", "bfloat16"})
        for (const std::string elements : {"1", "5001"}) {
          const std::string attributes = "kind=" + kind + " elements=" + elements +
                                         " phase=" + phase + " precision=" + precision;
          CAPTURE(attributes);
          if (!is_supported("activation", attributes)) continue;
          CHECK(worst_error_of("activation", attributes, "", "uniform") <= 1);
        }
}

TEST_CASE("activation: every candidate of oneDNN is a choice, and cold calls rotate") {
  for (const std::string phase : {"fwd", "bwd"}) {
    const std::string attributes = "kind=gelu elements=1000 precision=float phase=" + phase;
    const std::vector<std::string> names = candidates("activation", attributes, "library=onednn");
    REQUIRE_FALSE(names.empty());
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(worst_error_of("activation", attributes, "candidate=" + name, "uniform") <= 1);
    }
    CHECK(worst_error_of("activation", attributes, "cache=cold", "uniform") <= 1);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
