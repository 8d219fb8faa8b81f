// Recurrent layers through oneDNN and through the reference: every cell, phase and candidate
// against loops in double, with scans, projections, repeated calls, notes of the row, and refusals
// with their reasons.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../ops/naive_int8_rnn.hpp"
#include "../ops/naive_rnn.hpp"
#include "deepbench/plugin.hpp"
#include "harness.hpp"
#include "rnn_layers.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

std::vector<double> exact_outputs(const Rnn& rnn, const std::string& mutant = "") {
  testing::NaiveRnn<double> naive(rnn, 5);
  naive.mutant = mutant;
  return rnn.is_forward() ? naive.forward() : naive.backward();
}

// The tolerance for float: sums of `hidden` products, and for dU one product per step and sequence,
// with random rounding errors that propagate from step to step.
uint64_t count_wrong(const Rnn& rnn, const std::vector<double>& got,
                     const std::vector<double>& expected) {
  const double terms = double(rnn.hidden + rnn.timesteps * rnn.batch);
  const double roundoff = 8 * std::sqrt(terms) * kRoundoffFloat;
  uint64_t wrong = got.size() != expected.size();
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    wrong += !(std::abs(got[i] - expected[i]) <= roundoff * (1 + std::abs(expected[i])));
  return wrong;
}

// Runs one call on poisoned outputs and compares all of them, then runs two further calls.
void check_layer(const Rnn& rnn, const std::string& problem, const std::string& options) {
  CAPTURE(problem);
  CAPTURE(options);
  Kernel kernel("rnn", problem, options + " seed=5");
  const auto outputs = uint64_t(rnn.outputs());
  CHECK(kernel.scan().untouched == outputs);
  kernel.run(1);
  const deepbench_scan scan = kernel.scan();
  CHECK(scan.count == outputs);
  CHECK(scan.untouched == 0);
  CHECK(scan.non_finite == 0);
  const std::vector<double> first = kernel.read(outputs);
  CHECK(count_wrong(rnn, first, exact_outputs(rnn)) == 0);
  kernel.poison();
  kernel.run(2);
  // The outputs are equal bit for bit, whatever earlier calls leave behind.
  CHECK(kernel.read(outputs) == first);
}

void check_every_candidate(const std::string& cell, const LayerSizes& sizes,
                           const std::string& phase, const std::string& mode) {
  const std::string problem = rnn_text(cell, sizes, phase, mode);
  const auto ids = candidates("rnn", problem, "library=onednn");
  REQUIRE_FALSE(ids.empty());
  CHECK(ids[0] == "rnn");
  for (const std::string& id : ids)
    check_layer(rnn_of(cell, sizes, phase), problem, "library=onednn candidate=" + id);
}

TEST_CASE("rnn: every cell, phase, mode and candidate of oneDNN") {
  if (!is_installed("onednn")) return;
  for (const char* cell : kCells)
    for (const LayerSizes& sizes : {kSmall, LayerSizes{64, 16, 3}, LayerSizes{33, 1, 4},
                                    LayerSizes{1, 1, 1}, LayerSizes{130, 2, 2}}) {
      check_every_candidate(cell, sizes, "fwd", "training");
      check_every_candidate(cell, sizes, "fwd", "inference");
      check_every_candidate(cell, sizes, "bwd", "training");
    }
}

TEST_CASE("rnn: layers large enough for packed weights and gradients with gaps") {
  if (!is_installed("onednn")) return;
  const LayerSizes sizes = {256, 8, 2};
  for (const char* cell : kCells) {
    check_every_candidate(cell, sizes, "fwd", "inference");
    check_layer(rnn_of(cell, sizes, "bwd"), rnn_text(cell, sizes, "bwd"), "");
  }
}

TEST_CASE("rnn: the reference, in every phase") {
  for (const char* cell : kCells)
    for (const char* phase : kPhases)
      for (const LayerSizes& sizes : {kSmall, LayerSizes{1, 1, 1}, LayerSizes{33, 1, 7}})
        check_layer(rnn_of(cell, sizes, phase), rnn_text(cell, sizes, phase),
                    "library=reference threads=1");
  const LayerSizes wide = {130, 40, 1};  // Several threads share the sequences.
  for (const char* cell : kCells)
    check_layer(rnn_of(cell, wide, "bwd"), rnn_text(cell, wide, "bwd"), "library=reference");
}

TEST_CASE("rnn: the comparison detects slightly wrong cells") {
  for (const char* cell : kCells)
    for (const char* mutant : {"gates swapped", "last term dropped", "no input", "no inner bias",
                               "dU without step 0", "h' gets no gradient"}) {
      CAPTURE(cell);
      CAPTURE(mutant);
      const std::string is = cell, broken = mutant;
      if (broken == "gates swapped" && is == "vanilla") continue;
      if (broken == "no inner bias" && is != "gru") continue;
      const Rnn rnn = rnn_of(cell, kSmall, "bwd");
      CHECK(count_wrong(rnn, exact_outputs(rnn, mutant), exact_outputs(rnn)) > 0);
    }
}

TEST_CASE("rnn: a projection uses the outputs in the order of the problem") {
  for (const std::string library : {"onednn", "reference"}) {
    if (library == "onednn" && !is_installed("onednn")) continue;
    for (const char* phase : {"fwd", "bwd"}) {
      const Rnn rnn = rnn_of("lstm", {64, 3, 64}, phase);
      Kernel kernel("rnn", rnn_text("lstm", {64, 3, 64}, phase), "library=" + library);
      kernel.run(1);
      const auto outputs = uint64_t(rnn.outputs());
      const std::vector<double> values = kernel.read(outputs);
      constexpr uint64_t kRows = 64;
      std::vector<double> sums(kRows);
      for (uint64_t i = 0; i < outputs; ++i)
        sums[i % kRows] += values[i] * deepbench_weight(7, i / kRows);
      const std::vector<double> got = kernel.project(kRows, 7);
      for (uint64_t i = 0; i < kRows; ++i) CHECK(std::abs(got[i] - sums[i]) < 1e-9);
    }
  }
}

TEST_CASE("rnn: the kernel describes the facts of its row") {
  if (!is_installed("onednn")) return;
  const Emitted forward =
      Kernel("rnn", rnn_text("lstm", {256, 4, 2}, "fwd", "inference")).describe();
  CHECK(forward.text("library").find("onednn 3") == 0);
  CHECK(forward.text("inputs") == "1");
  CHECK(forward.text("cell_state") == "float");
  CHECK(forward.text("note.inputs").find("one input per step") != std::string::npos);
  CHECK(forward.text("converted") == "u");
  CHECK(forward.number("conversion_ns") > 0);
  CHECK(forward.number("conversion_sample_ns.0") > 0);
  CHECK(forward.number("threads") >= 1);
  CHECK_FALSE(forward.has("in_place"));
  CHECK_FALSE(forward.has("metric.reorder"));

  const Emitted backward = Kernel("rnn", rnn_text("gru", kSmall, "bwd")).describe();
  CHECK_FALSE(backward.has("cell_state"));
  CHECK(backward.number("metric.reorder") > 0);
  CHECK(backward.text("note.backward").find("zeroing") != std::string::npos);
  const Emitted plain =
      Kernel("rnn", rnn_text("gru", kSmall, "bwd"), "candidate=rnn:plain").describe();
  CHECK_FALSE(plain.has("converted"));  // The backward pass takes U in the problem's order.

  Emitted facts;
  REQUIRE(backend().describe(facts.sink()) == DEEPBENCH_OK);
  CHECK(facts.text("joint_phase.rnn") == "bwd");
}

TEST_CASE("rnn: all cold copies give the right result") {
  if (!is_installed("onednn")) return;
  const LayerSizes sizes = {256, 4, 2};
  for (const char* cell : {"lstm", "gru"})
    for (const char* phase : {"fwd", "bwd"}) {
      const Rnn rnn = rnn_of(cell, sizes, phase);
      const std::string mode = rnn.is_forward() ? "inference" : "training";
      const std::string problem = rnn_text(cell, sizes, phase, mode);
      Kernel kernel("rnn", problem, "cache=cold seed=5");
      const Emitted facts = kernel.describe();
      if (facts.text("cold") != "rotation") continue;  // The cache is too large for 1024 copies.
      const auto copies = uint64_t(facts.number("copies"));
      const auto weight_bytes = uint64_t(4 * rnn.weights());
      CHECK(copies * weight_bytes * 2 >= uint64_t(cpu::topology().last_level_bytes));
      CHECK(memory_needed("rnn", problem, "cache=cold") > copies * weight_bytes);
      CHECK(kernel.run(copies).copies_touched == copies);
      const std::vector<double> first = kernel.read(uint64_t(rnn.outputs()));
      CHECK(count_wrong(rnn, first, exact_outputs(rnn)) == 0);
      for (uint64_t copy = 0; copy < copies; ++copy) {
        kernel.run(1);
        CHECK(kernel.scan().untouched == 0);
      }
      CHECK(kernel.read(uint64_t(rnn.outputs())) == first);
    }
}

// Counts the outputs that differ from those of an integer layer, where each step starts from the
// previous outputs in `got`. There may be a few, where rounding can go either way.
uint64_t count_differing_integers(const Rnn& rnn, const Emitted& facts,
                                  const std::vector<double>& got, const std::string& mutant = "") {
  testing::NaiveInt8Rnn naive(rnn, facts.text("fill.u") == "s7" ? DEEPBENCH_S7 : DEEPBENCH_S8, 5);
  naive.given = got;
  naive.mutant = mutant;
  const std::vector<float> expected = naive.forward();
  uint64_t others = got.size() != expected.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    others += got[i] != double(expected[i]);
    CHECK(got[i] * Rnn::kDataScale == std::round(got[i] * Rnn::kDataScale));
  }
  return others;
}

TEST_CASE("rnn: only the listed ids of candidates are valid") {
  if (!is_installed("onednn")) return;
  for (const char* cell : kCells) {
    const std::string problem = rnn_text(cell, kSmall);
    CAPTURE(cell);
    for (const std::string id : {"rnn:+1", "rnn:01", "rnn:1x", "rnn:0", "rnn:100", "rnn:"}) {
      CAPTURE(id);
      CHECK(plan_status("rnn", problem, "candidate=" + id).status == DEEPBENCH_INVALID);
    }
  }
}

TEST_CASE("rnn: 8-bit layers of oneDNN, hot and cold, and unsupported ones") {
  if (!is_installed("onednn")) return;
  for (const std::string cell : {"vanilla", "lstm", "gru", "gru_reset_before"})
    for (const LayerSizes& sizes :
         {kSmall, LayerSizes{1, 1, 1}, LayerSizes{33, 1, 4}, LayerSizes{256, 8, 5}}) {
      CAPTURE(cell);
      CAPTURE(sizes.hidden);
      const std::string problem = rnn_text(cell, sizes, "fwd", "inference", "int8");
      const SupportResult answer = plan_status("rnn", problem);
      CHECK((cell == "lstm" ? answer.status == DEEPBENCH_OK
                            : answer.status == DEEPBENCH_OK ||
                                  answer.error.find("in int8 for this") != std::string::npos));
      if (answer.status != DEEPBENCH_OK) continue;
      const Rnn rnn = rnn_of(cell, sizes, "fwd", "int8");
      const auto outputs = uint64_t(rnn.outputs());
      std::vector<double> hot;
      for (const std::string& id : candidates("rnn", problem))
        for (const std::string cache : {"hot", "cold"}) {
          Kernel kernel("rnn", problem, "seed=5 cache=" + cache + " candidate=" + id);
          const Emitted facts = kernel.describe();
          CHECK(facts.text("note.quantized").find("8-bit") != std::string::npos);
          CHECK(kernel.scan().untouched == outputs);
          kernel.run(3);
          CHECK(kernel.scan().untouched == 0);
          const std::vector<double> got = kernel.read(outputs);
          CHECK(count_differing_integers(rnn, facts, got) <= outputs / 500);
          if (hot.empty()) hot = got;
          CHECK(got == hot);
        }
    }
}

TEST_CASE("rnn: the comparison detects slightly wrong integer layers") {
  if (!is_installed("onednn")) return;
  const LayerSizes sizes = {256, 4, 4};
  const Rnn rnn = rnn_of("lstm", sizes, "fwd", "int8");
  Kernel kernel("rnn", rnn_text("lstm", sizes, "fwd", "inference", "int8"), "seed=5");
  kernel.run(1);
  const std::vector<double> got = kernel.read(uint64_t(rnn.outputs()));
  for (const char* mutant : {"last term dropped", "gates swapped", "wrong scale", "no input",
                             "no bias of a gate", "states are truncated", "c is not carried"}) {
    CAPTURE(mutant);
    CHECK(count_differing_integers(rnn, kernel.describe(), got, mutant) > got.size() / 100);
  }
}

TEST_CASE("rnn: zero inputs and biases give zero outputs") {
  Kernel zeros("rnn", rnn_text("lstm", kSmall), "inputs=zeros library=reference");
  zeros.run(1);
  for (const double h : zeros.read(24 * 3 * 5)) CHECK(h == 0);
  if (!is_installed("onednn")) return;
  Kernel integers("rnn", rnn_text("lstm", kSmall, "fwd", "inference", "int8"), "inputs=zeros");
  integers.run(1);
  for (const double h : integers.read(24 * 3 * 5)) CHECK(h == 0);
}

TEST_CASE("rnn: refusals state their reasons") {
  const auto refused = [](const std::string& problem, const std::string& options) {
    const SupportResult answer = plan_status("rnn", problem, options);
    CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
    return answer.error;
  };
  // Automatic selection never takes the reference, even if no other library supports the problem.
  if (is_installed("onednn")) {
    for (const char* phase : {"bwd_data", "bwd_weights"})
      CHECK(refused(rnn_text("lstm", kSmall, phase), "").find("phase=bwd") != std::string::npos);
    CHECK(Kernel("rnn", rnn_text("gru", kSmall)).describe().text("library") != "reference");
    CHECK(refused(rnn_text("gru", kSmall, "fwd", "inference", "tf32"), "").find("tf32") !=
          std::string::npos);
    CHECK(refused(rnn_text("lstm", kSmall, "fwd", "training", "int8"), "").find("inference") !=
          std::string::npos);
    const SupportResult half =
        plan_status("rnn", rnn_text("gru", kSmall, "fwd", "training", "half"));
    CHECK((half.status == DEEPBENCH_OK || half.error.find("unimplemented") != std::string::npos));
    for (const char* id : {"nosuch", "rnn:77", "rnn:0", "rnn:1x", "rnn:training", "matmul"})
      CHECK(plan_status("rnn", rnn_text("gru", kSmall), std::string("candidate=") + id).status ==
            DEEPBENCH_INVALID);
  } else {
    refused(rnn_text("gru", kSmall), "");
  }
  CHECK(plan_status("rnn", rnn_text("gru", kSmall), "library=reference candidate=rnn").status ==
        DEEPBENCH_INVALID);
  refused(rnn_text("gru", kSmall, "fwd", "training", "half"), "library=reference");
  refused(rnn_text("gru", kSmall), "library=openblas");
}

TEST_CASE("rnn: huge problems run out of memory") {
  for (const std::string library : {"onednn", "reference"}) {
    if (library == "onednn" && !is_installed("onednn")) continue;
    CHECK(prepare_status("rnn", rnn_text("vanilla", {64, 1 << 20, 1 << 20}),
                         "library=" + library) == DEEPBENCH_OUT_OF_MEMORY);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
