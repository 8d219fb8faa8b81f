// Recurrent layers in bfloat16 through oneDNN and through the reference: states are rounded and
// passed on as bfloat16.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_rnn.hpp"
#include "harness.hpp"
#include "rnn_layers.hpp"

namespace deepbench::cpu_test {
namespace {

// Loops that round states to bfloat16 and pass on the rounded values; sums are in double.
std::vector<double> outputs_with_bfloat16_states(const Rnn& rnn, const std::string& mutant = "") {
  testing::NaiveRnn<double> naive(rnn, 5);
  naive.narrow = true;
  naive.mutant = mutant;
  return naive.forward();
}

// Counts differences of more than two roundings. A state may be off by one rounding if a float sum
// falls on the other side of a tie.
uint64_t count_beyond_two_roundings(const std::vector<double>& got,
                                    const std::vector<double>& expected) {
  uint64_t far = got.size() != expected.size();
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    far +=
        !(std::abs(got[i] - expected[i]) <= kRoundoffBfloat16 * (0.5 + 2 * std::abs(expected[i])));
  return far;
}

// Returns the outputs after one call on poisoned outputs.
std::vector<double> bfloat16_outputs(const std::string& problem, const std::string& candidate,
                                     uint64_t outputs) {
  Kernel kernel("rnn", problem, "library=onednn seed=5 candidate=" + candidate);
  kernel.run(1);
  CHECK(kernel.scan().untouched == 0);
  return kernel.read(outputs);
}

TEST_CASE("rnn: every cell, mode and candidate of oneDNN in bfloat16") {
  if (!is_installed("onednn")) return;
  for (const char* cell : kCells)
    for (const LayerSizes& sizes : {kSmall, LayerSizes{1, 1, 1}, LayerSizes{256, 8, 5}})
      for (const char* mode : {"training", "inference"}) {
        const std::string problem = rnn_text(cell, sizes, "fwd", mode, "bfloat16");
        CAPTURE(problem);
        const SupportResult answer = plan_status("rnn", problem, "library=onednn");
        if (answer.status != DEEPBENCH_OK) {  // The processor has no units for bfloat16.
          CHECK(answer.error.find("unimplemented") != std::string::npos);
          continue;
        }
        const std::vector<double> expected =
            outputs_with_bfloat16_states(rnn_of(cell, sizes, "fwd", "bfloat16"));
        for (const std::string& id : candidates("rnn", problem, "library=onednn"))
          CHECK(count_beyond_two_roundings(bfloat16_outputs(problem, id, expected.size()),
                                           expected) == 0);
      }
}

TEST_CASE("rnn: the comparison in bfloat16 detects slightly wrong cells") {
  for (const char* cell : kCells)
    for (const char* mutant : {"last term dropped", "no input"}) {
      CAPTURE(cell);
      CAPTURE(mutant);
      const Rnn rnn = rnn_of(cell, kSmall, "fwd", "bfloat16");
      CHECK(count_beyond_two_roundings(outputs_with_bfloat16_states(rnn, mutant),
                                       outputs_with_bfloat16_states(rnn)) > 0);
    }
}

TEST_CASE("rnn: the reference in bfloat16 passes on rounded states") {
  const LayerSizes sizes = {16, 2, 3};
  for (const char* cell : kCells) {
    Kernel kernel("rnn", rnn_text(cell, sizes, "fwd", "training", "bfloat16"),
                  "library=reference seed=5");
    kernel.run(1);
    const Rnn rnn = rnn_of(cell, sizes, "fwd", "bfloat16");
    const std::vector<double> got = kernel.read(uint64_t(rnn.outputs()));
    CHECK(count_beyond_two_roundings(got, outputs_with_bfloat16_states(rnn)) == 0);
    for (const double h : got) CHECK(deepbench_from_bfloat16(deepbench_to_bfloat16(float(h))) == h);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
