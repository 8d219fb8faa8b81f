// Elementwise work on the CPU: oneDNN's sums and products, and the built-in loops, against the
// reference.
#include <doctest/doctest.h>

#include <string>

#include "map_checks.hpp"

namespace deepbench::cpu_test {
namespace {

std::string problem_of(const std::string& kind, const std::string& shape,
                       const std::string& precision) {
  return "kind=" + kind + " " + shape + " precision=" + precision;
}

TEST_CASE("elementwise: oneDNN computes sums and products in every precision") {
  for (const std::string kind : {"add", "multiply"})
    for (const std::string precision : {"float", "half", "bfloat16"})
      for (const std::string shape : {"rows=1 columns=1", "rows=3 columns=1667"}) {
        const std::string attributes = problem_of(kind, shape, precision);
        CAPTURE(attributes);
        if (!is_supported("elementwise", attributes)) continue;
        CHECK(worst_error_of("elementwise", attributes, "", "uniform") <= 1);
      }
}

TEST_CASE("elementwise: built-in loops compute swiglu and rotary embeddings on every thread") {
  for (const std::string precision : {"float", "bfloat16"})
    for (const std::string options : {"threads=1", "threads=2 cache=cold"}) {
      for (const std::string shape : {"rows=1 columns=1", "rows=3 columns=1667"}) {
        const std::string attributes = problem_of("swiglu", shape, precision);
        CAPTURE(attributes);
        CHECK(worst_error_of("elementwise", attributes, options, "uniform", "builtin") <= 1);
      }
      for (const std::string shape : {"rows=1 columns=2 dim=2", "rows=5 columns=198 dim=66"}) {
        const std::string attributes = problem_of("rotary", shape, precision);
        CAPTURE(attributes);
        CHECK(worst_error_of("elementwise", attributes, options, "uniform", "builtin") <= 1);
      }
    }
}

TEST_CASE("elementwise: each library names what it lacks") {
  const auto refusal = [](const std::string& attributes, const std::string& options) {
    const SupportResult result = plan_status("elementwise", attributes, options);
    CHECK(result.status == DEEPBENCH_UNSUPPORTED);
    return result.error;
  };
  const std::string shape = "rows=2 columns=128";
  CHECK(refusal(problem_of("swiglu", shape, "float"), "library=onednn").find("swiglu") !=
        std::string::npos);
  CHECK(refusal("kind=rotary " + shape + " dim=128 precision=float", "library=onednn")
            .find("no rotary embedding") != std::string::npos);
  CHECK(refusal(problem_of("add", shape, "float"), "library=builtin").find("alone") !=
        std::string::npos);
  CHECK(refusal(problem_of("swiglu", shape, "half"), "library=builtin").find("in half") !=
        std::string::npos);
}

}  // namespace
}  // namespace deepbench::cpu_test
