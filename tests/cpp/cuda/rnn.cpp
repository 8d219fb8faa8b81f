// Recurrent layers on the device through cuDNN and through the reference. Every cell, phase, mode,
// precision and algorithm is compared with loops in double; further tests cover scans, projections,
// repeated calls, restoring and refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "rnn_harness.hpp"

namespace deepbench::cuda_test {
namespace {

constexpr const char* kCells[] = {"vanilla", "lstm", "gru"};
constexpr const char* kLayerPrecisions[] = {"float", "tf32", "half", "bfloat16"};

std::vector<Layer> phases_of(const std::string& cell, const std::string& precision,
                             const LayerSizes& sizes) {
  return {{cell, "fwd", "training", precision, sizes},
          {cell, "fwd", "inference", precision, sizes},
          {cell, "bwd_data", "training", precision, sizes},
          {cell, "bwd_weights", "training", precision, sizes}};
}

TEST_CASE("gpu: rnn: every cell, phase, mode, precision and algorithm is correct") {
  REQUIRE_GPU();
  for (const std::string precision : kLayerPrecisions)
    for (const std::string cell : kCells)
      for (const LayerSizes& sizes : {kSmall, LayerSizes{128, 8, 3}, LayerSizes{33, 1, 4}})
        for (const Layer& layer : phases_of(cell, precision, sizes)) {
          const std::string problem = layer.text();
          CAPTURE(problem);
          const auto ids = ProblemRequest("rnn", problem, "library=cudnn limit=32").candidates();
          REQUIRE_FALSE(ids.empty());
          CHECK(ids[0] == "standard");
          for (const std::string& id : ids) check_layer(layer, "library=cudnn candidate=" + id);
        }
}

TEST_CASE("gpu: rnn: persist_dynamic is correct, and best tries it for inference in float") {
  REQUIRE_GPU();
  const auto is_listed = [](const Layer& layer, const char* options) {
    const auto ids = ProblemRequest("rnn", layer.text(), options).candidates();
    return std::count(ids.begin(), ids.end(), "persist_dynamic") == 1;
  };
  const Layer gradient = {"gru", "bwd_data", "training", "half", kSmall};
  CHECK(is_listed(gradient, "library=cudnn"));
  CHECK_FALSE(is_listed(gradient, "library=cudnn limit=32"));
  check_layer(gradient, "candidate=persist_dynamic");

  CHECK(is_listed({"gru", "fwd", "inference", "float", kSmall}, "library=cudnn limit=32"));
  CHECK_FALSE(is_listed({"gru", "fwd", "training", "float", kSmall}, "library=cudnn limit=32"));
  // U, as large as the registers and the shared memory of two devices, is no candidate.
  CHECK_FALSE(
      is_listed({"gru", "fwd", "inference", "float", {3584, 1, 2}}, "library=cudnn limit=32"));
}

TEST_CASE("gpu: rnn: algorithms that round partial sums run only by name") {
  REQUIRE_GPU();
  for (const std::string cell : {"vanilla", "gru"}) {
    const Layer layer = {cell, "fwd", "training", "half", kSmall};
    const auto all = ProblemRequest("rnn", layer.text(), "library=cudnn").candidates();
    int ran = 0;
    for (const std::string name : {"persist_static", "persist_static_small_h"}) {
      CAPTURE(name);
      CHECK(std::count(all.begin(), all.end(), name) == 0);
      const std::string options = "candidate=" + name;
      if (ProblemRequest("rnn", layer.text(), options).plan_status() != DEEPBENCH_OK) continue;
      check_layer(layer, options);
      ++ran;
    }
    CHECK(ran > 0);
  }
}

TEST_CASE("gpu: rnn: the reference matches the definition in every phase") {
  REQUIRE_GPU();
  for (const std::string precision : kLayerPrecisions)
    for (const std::string cell : kCells)
      for (const std::string phase : {"fwd", "bwd_data", "bwd_weights", "bwd"})
        for (const LayerSizes& sizes : {LayerSizes{24, 3, 5}, LayerSizes{33, 1, 7}}) {
          const Layer layer = {cell, phase, "training", precision, sizes};
          const std::string problem = layer.text();
          CAPTURE(problem);
          LayerRun run(layer, "library=reference");
          INFO(run.error());
          REQUIRE(run.status() == DEEPBENCH_OK);
          run.call(1);
          const auto outputs = uint64_t(layer.rnn().outputs());
          CHECK(run.scan().untouched == 0);
          CHECK(count_wrong(run.read(outputs), reference_output(layer), 1e-11) == 0);
        }
}

// Gradients that start from the library's states use the same slope of relu at zero.
TEST_CASE("gpu: rnn: a reference adopts only the states of the kernel that it verifies") {
  REQUIRE_GPU();
  const auto adopts = [](LayerRun& reference, const LayerRun& run) {
    return testing::adopt_forward_states(table(), reference.handle(), run.handle()) ==
           DEEPBENCH_STATES_ADOPTED;
  };
  for (const std::string precision : kLayerPrecisions)
    for (const std::string cell : kCells)
      for (const std::string phase : {"bwd_data", "bwd_weights"}) {
        const Layer layer = {cell, phase, "training", precision, kSmall};
        const std::string problem = layer.text();
        CAPTURE(problem);
        LayerRun run(layer, "library=cudnn"), reference(layer, "library=reference");
        CHECK(adopts(reference, run));
        const auto outputs = uint64_t(layer.rnn().outputs());
        for (int turn = 0; turn < 2; ++turn) {
          run.restore();
          run.call(1);
          reference.poison();
          reference.call(1);
          CHECK(count_wrong(run.read(outputs), reference.read(outputs), roundoff_of(layer)) == 0);
        }
      }
  const Layer layer = {"gru", "bwd_data"};
  LayerRun reference(layer, "library=reference"), other(layer, "library=cudnn seed=6");
  CHECK_FALSE(adopts(reference, other));
  reference.call(1);
  const auto outputs = uint64_t(layer.rnn().outputs());
  CHECK(count_wrong(reference.read(outputs), reference_output(layer), 1e-11) == 0);
  CHECK_FALSE(adopts(reference, LayerRun({"gru", "fwd"}, "library=cudnn")));
}

// With this many units, some sums round to zero, where cuDNN's relu has slope one.
TEST_CASE("gpu: rnn: a reference uses the library's slope where a sum is zero") {
  REQUIRE_GPU();
  for (const std::string precision : {"half", "bfloat16"})
    for (const std::string phase : {"bwd_data", "bwd_weights"}) {
      const Layer layer = {"vanilla", phase, "training", precision, {512, 64, 25}};
      const std::string problem = layer.text();
      CAPTURE(problem);
      LayerRun run(layer, "library=cudnn"), reference(layer, "library=reference");
      REQUIRE(testing::adopt_forward_states(table(), reference.handle(), run.handle()) ==
              DEEPBENCH_STATES_ADOPTED);
      run.restore();
      run.call(1);
      reference.call(1);
      const auto outputs = uint64_t(layer.rnn().outputs());
      // Each element of dU is a sum with 1600 roundings.
      const double roundoff = roundoff_of(layer) * (phase == "bwd_weights" ? 10 : 1);
      CHECK(count_wrong(run.read(outputs), reference.read(outputs), roundoff) == 0);
    }
}

TEST_CASE("gpu: rnn: the comparison detects layers that are almost the same") {
  for (const char* cell : kCells)
    for (const char* mutant : {"gates swapped", "no input", "no inner bias", "dU without step 0",
                               "h' gets no gradient"}) {
      const std::string cell_name = cell, mutant_name = mutant;
      if (mutant_name == "gates swapped" && cell_name == "vanilla") continue;
      if (mutant_name == "no inner bias" && cell_name != "gru") continue;
      CAPTURE(cell);
      CAPTURE(mutant);
      const Layer layer = {cell, "bwd", "training", "float", kSmall};
      testing::NaiveRnn<double> naive(layer.rnn(), kSeed);
      naive.mutant = mutant;
      CHECK(count_wrong(naive.backward(), reference_output(layer), roundoff_of(layer)) > 0);
    }
}

TEST_CASE("gpu: rnn: projections use the outputs in their order") {
  REQUIRE_GPU();
  constexpr uint64_t kRows = 64;
  for (const std::string library : {"cudnn", "reference"})
    for (const Layer& layer : phases_of("gru", "half", kSmall)) {
      LayerRun run(layer, "library=" + library);
      run.call(1);
      const auto outputs = uint64_t(layer.rnn().outputs());
      const std::vector<double> values = run.read(outputs);
      std::vector<double> sums(kRows);
      for (uint64_t i = 0; i < outputs; ++i)
        sums[i % kRows] += values[i] * deepbench_weight(7, i / kRows);
      const std::vector<double> got = run.project(kRows, 7);
      for (uint64_t i = 0; i < kRows; ++i) CHECK(std::abs(got[i] - sums[i]) < 1e-9);
    }
}

TEST_CASE("gpu: rnn: all cold copies give the result and are restored") {
  REQUIRE_GPU();
  for (const Layer& layer : phases_of("lstm", "half", {256, 8, 3})) {
    const std::string problem = layer.text();
    CAPTURE(problem);
    LayerRun run(layer, "cache=cold");
    const Emitted facts = run.describe();
    if (facts.text("cold") != "rotation") continue;
    const auto outputs = uint64_t(layer.rnn().outputs());
    run.call(1);
    const std::vector<double> first = run.read(outputs);
    CHECK(count_wrong(first, reference_output(layer), roundoff_of(layer)) == 0);
    run.restore();
    run.poison();
    for (int64_t copy = 0; copy < std::min<int64_t>(4, int64_t(facts.number("copies"))); ++copy) {
      run.call(1);
      CHECK(run.read(outputs) == first);
    }
  }
}

TEST_CASE("gpu: rnn: data gradients need a restored reserve space") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "half"})
    for (const std::string cell : kCells) {
      const Layer layer = {cell, "bwd_data", "training", precision};
      const std::string problem = layer.text();
      CAPTURE(problem);
      LayerRun run(layer, "library=cudnn");
      const auto outputs = uint64_t(layer.rnn().outputs());
      run.call(1);
      const std::vector<double> first = run.read(outputs);
      run.restore();
      run.call(2);
      CHECK(run.read(outputs) != first);
      run.restore();
      run.call(1);
      CHECK(run.read(outputs) == first);
    }
}

TEST_CASE("gpu: rnn: a kernel describes all facts of a row") {
  REQUIRE_GPU();
  const Emitted forward = LayerRun({"lstm", "fwd", "inference", "half"}, "").describe();
  CHECK(forward.text("library").substr(0, 6) == "cudnn ");
  CHECK(forward.text("algorithm") == "standard");
  CHECK(forward.text("inputs") == "64");
  CHECK(forward.number("workspace_bytes") > 0);
  CHECK(forward.number("planning_ns") > 0);
  CHECK(forward.text("note.inputs").find("added to every gate") != std::string::npos);
  CHECK_FALSE(forward.has("in_place"));
  const Emitted data = LayerRun({"gru", "bwd_data"}, "").describe();
  CHECK(data.text("in_place") == "1");
  CHECK(data.number("restore_every") >= 1);
  CHECK(data.text("note.backward").find("reserve space") != std::string::npos);
  const Emitted weights = LayerRun({"gru", "bwd_weights", "training", "half"}, "").describe();
  CHECK(weights.text("in_place") == "1");
  CHECK(weights.number("restore_every") < 10000);
  CHECK(weights.text("note.backward").find("zero") != std::string::npos);
}

TEST_CASE("gpu: rnn: refusals name the reason") {
  REQUIRE_GPU();
  const auto refused = [](const Layer& layer, const std::string& options,
                          deepbench_status status = DEEPBENCH_UNSUPPORTED) {
    CHECK(ProblemRequest("rnn", layer.text(), options).plan_status() == status);
    return std::string(table().last_error());
  };
  const auto says = [](const std::string& reason, const char* word) {
    CAPTURE(reason);
    CHECK(reason.find(word) != std::string::npos);
  };
  says(refused({"gru_reset_before"}, ""), "cell=gru");
  says(refused({"lstm", "bwd"}, ""), "phase=bwd_data");
  says(refused({"lstm", "fwd", "inference", "int8"}, ""), "int8");
  says(refused({"lstm", "fwd", "inference", "fp8_e4m3"}, ""), "fp8_e4m3");
  says(refused({"lstm", "fwd", "training", "float", {1, 2, 3}}, ""), "one unit");
  says(refused({"lstm", "fwd", "training", "half", {2048, 32, 2}}, "candidate=persist_static"),
       "persist_static");
  const std::string reason = table().last_error();
  if (reason.find("standard algorithm") == std::string::npos)
    says(reason, " from cudnn");  // the refusing call
  says(refused({"lstm", "fwd", "training", "bfloat16"}, "candidate=persist_static"),
       "standard algorithm");
  for (const char* library : {"library=cudnn", "library=reference"})
    says(refused({"lstm", "fwd", "training", "float", {2, 70000, 40000}}, library), "32 bits");
  says(refused({"lstm"}, "candidate=nosuch", DEEPBENCH_INVALID), "nosuch");
  says(refused({"lstm"}, "library=reference candidate=standard", DEEPBENCH_INVALID), "standard");
}

TEST_CASE("gpu: rnn: inputs of zeros give outputs of zero") {
  REQUIRE_GPU();
  const Layer layer = {"lstm", "fwd", "inference", "half"};
  LayerRun run(layer, "inputs=zeros");
  run.call(1);
  for (const double h : run.read(uint64_t(layer.rnn().outputs()))) CHECK(h == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
