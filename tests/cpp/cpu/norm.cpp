// Normalization through every installed library: each kind, phase and precision is verified as rows
// are, and refusals state their reasons.
#include "deepbench/ops/norm/norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/core/parallel.hpp"
#include "harness.hpp"
#include "plugin_runner.hpp"

namespace deepbench::cpu_test {
namespace {

const std::vector<std::string> kShapes = {
    "kind=layer rows=1 columns=1", "kind=layer rows=37 columns=515",
    "kind=rms rows=129 columns=1024", "kind=group rows=3 columns=96 groups=4",
    "kind=group rows=5 columns=2040 groups=8"};

void check_row(const std::string& problem, const std::string& options) {
  const Row row = run_row("norm " + problem + " ; " + options);
  INFO(problem, " ; ", options, ": ", row.reason, " ", row.verification.reason);
  CHECK(row.status == Status::kOk);
  CHECK(row.verification.state == Verification::State::kPassed);
}

TEST_CASE("norm: the built-in loops compute every phase of layer, rms and group") {
  for (const std::string& shape : kShapes)
    for (const std::string phase : {"training", "inference", "bwd"})
      check_row(shape + " phase=" + phase, "library=builtin");
  for (const std::string phase : {"training", "bwd"})
    check_row(kShapes.back() + " precision=bfloat16 phase=" + phase, "library=builtin");
}

TEST_CASE("norm: oneDNN computes every phase of batch and layer, and trains with each algorithm") {
  if (!is_installed("onednn")) return;
  for (const std::string shape :
       {"kind=batch rows=300 columns=64", "kind=layer rows=37 columns=515"})
    for (const std::string phase : {"inference", "training", "bwd"}) {
      const std::string problem = shape + " phase=" + phase + " precision=float";
      if (phase == "inference") {
        check_row(problem, "library=onednn");
        continue;
      }
      for (const std::string& id : candidates("norm", problem, "library=onednn"))
        check_row(problem, "library=onednn algorithm=" + id);
    }
}

TEST_CASE("norm: oneDNN leaves the variance, and the row says so") {
  if (!is_installed("onednn")) return;
  const std::string shape = "kind=layer rows=3 columns=8 precision=float phase=";
  CHECK(Kernel("norm", shape + "training").describe().text("statistics") == "variance");
  CHECK_FALSE(Kernel("norm", shape + "inference").describe().has("statistics"));
}

TEST_CASE("norm: the built-in loops use any number of threads") {
  for (int threads = 1; threads <= std::min(2, parallel_threads()); ++threads)
    check_row("kind=layer rows=41 columns=130 phase=bwd",
              "library=builtin threads=" + std::to_string(threads));
}

TEST_CASE("norm: large problems are verified by samples and projections") {
  for (const std::string phase : {"training", "bwd"})
    check_row("kind=layer rows=400 columns=300 phase=" + phase, "library=builtin");
}

TEST_CASE("norm: constant inputs, whose variance is 0, are verified too") {
  for (const std::string inputs : {"zeros", "ones"})
    for (const std::string phase : {"training", "bwd"})
      check_row("kind=layer rows=9 columns=40 phase=" + phase, "library=builtin inputs=" + inputs);
}

TEST_CASE("norm: a plan says how many outputs it has, and no other can be read") {
  const auto outputs = [](const std::string& problem) {
    return Kernel("norm", problem + " precision=float", "library=builtin")
        .describe()
        .number("outputs");
  };
  CHECK(outputs("kind=layer rows=3 columns=8 phase=training") == 3);
  CHECK(outputs("kind=rms rows=3 columns=8 phase=training") == 2);
  CHECK(outputs("kind=rms rows=3 columns=8 phase=inference") == 1);
  CHECK(outputs("kind=rms rows=3 columns=8 phase=bwd") == 2);
  const Kernel kernel("norm", "kind=rms rows=3 columns=8 phase=inference precision=float",
                      "library=builtin");
  deepbench_scan scan = {};
  scan.struct_size = sizeof scan;
  CHECK(backend().scan_output(kernel.handle(), 1, &scan) == DEEPBENCH_INVALID);
  CHECK(std::string(backend().last_error()) == "there is no output 1");
}

TEST_CASE("norm: refusals state their reasons") {
  const auto reason = [](const std::string& problem, const std::string& options) {
    const SupportResult answer = plan_status("norm", problem, options);
    CHECK(answer.status != DEEPBENCH_OK);
    return answer.error;
  };
  const auto contains = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(reason("kind=batch rows=4 columns=4 phase=training precision=float", "library=builtin"),
           "kind=batch");
  contains(reason("kind=rms rows=4 columns=4 phase=training precision=half", "library=builtin"),
           "do not compute norm in half");
  contains(reason("kind=rms rows=4 columns=4 phase=training precision=float",
                  "library=builtin candidate=nonsense"),
           "no candidate");
}

}  // namespace
}  // namespace deepbench::cpu_test
