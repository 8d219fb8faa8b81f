// Recurrent layers by the built-in persistent kernel: the distribution of weights and the refusals;
// on a device, every cell, type and block shape compared with loops in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "gpu.hpp"
#include "kernels/compile.hpp"
#include "kernels/jit.hpp"
#include "kernels/sources.hpp"
#include "libraries.hpp"
#include "ops/rnn/persistent_plan.hpp"
#include "rnn_harness.hpp"

namespace deepbench::cuda_test {
namespace {

constexpr const char* kSupportedCells[] = {"vanilla", "lstm", "gru"};

Layer inference_layer(const std::string& cell, const LayerSizes& sizes,
                      const std::string& precision = "half") {
  return {cell, "fwd", "inference", precision, sizes};
}

cuda::DeviceFacts hopper_facts() {
  cuda::DeviceFacts facts;
  facts.major = 9;
  facts.multiprocessors = 132;
  facts.shared_bytes = 232448;
  facts.cooperative_launch = true;
  return facts;
}

std::vector<cuda::PersistentPlan> plans_of(const Layer& layer) {
  return cuda::persistent_plans(layer.rnn(), hopper_facts());
}

std::string refusal_of(const Layer& layer, const cuda::DeviceFacts& device = hopper_facts()) {
  try {
    cuda::persistent_plans(layer.rnn(), device);
    return "";
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
    return error.what();
  }
}

TEST_CASE("persistent: every unit belongs to a block, and every block fits") {
  for (const std::string cell : kSupportedCells)
    for (const int64_t hidden : {1, 7, 16, 48, 50, 512, 1021, 1024, 1040, 1500, 1760, 2048})
      for (const int64_t batch : {1, 4, 8}) {
        CAPTURE(cell);
        CAPTURE(hidden);
        CAPTURE(batch);
        const auto plans = plans_of(inference_layer(cell, {hidden, batch, 3}));
        REQUIRE_FALSE(plans.empty());
        for (const cuda::PersistentPlan& plan : plans) {
          CHECK(plan.blocks <= 132);
          CHECK(plan.shape.units % 2 == 0);
          CHECK(int64_t(plan.blocks * plan.shape.units) >= hidden);
          CHECK(int64_t((plan.blocks - 1) * plan.shape.units) < hidden);
          CHECK(plan.shared_bytes <= hopper_facts().shared_bytes);
          CHECK(plan.padded_hidden % PERSISTENT_PAIR_COLUMNS == 0);
          CHECK(plan.padded_hidden >= hidden);
          CHECK(plan.padded_hidden < hidden + PERSISTENT_PAIR_COLUMNS);
          CHECK(plan.name == "units=" + std::to_string(plan.shape.units));
        }
      }
}

TEST_CASE("persistent: the largest layers of the suites fit on a large device") {
  const auto plans = plans_of(inference_layer("gru", {2816, 4, 1500}));
  REQUIRE(plans.size() == 1);
  CHECK(plans[0].shape.units == 22);
  CHECK(plans[0].blocks == 128);
  CHECK(persistent_full_row_tiles(plans[0].shape) == 4);
  CHECK(persistent_partial_rows(plans[0].shape) == 2);
  CHECK(plans_of(inference_layer("lstm", {2048, 4, 25}))[0].shape.units == 16);
}

TEST_CASE("persistent: full tiles, partial tiles, states and sums do not overlap") {
  const PersistentShape shape = {3, 2816, 22};
  CHECK(persistent_column_pairs(shape) == 11);
  CHECK(persistent_register_pairs(shape) == PERSISTENT_MAX_REGISTERS);
  const uint32_t shared_pairs = 4 * 11 - PERSISTENT_MAX_REGISTERS;
  CHECK(persistent_shared_pairs(shape) == shared_pairs);
  CHECK(persistent_partial_offset(shape) == 8 * 1024 * shared_pairs);
  CHECK(persistent_states_offset(shape) - persistent_partial_offset(shape) == 8 * 11 * 2 * 32 * 2);
  CHECK(persistent_pitch(shape) % 128 == 64);  // two neighbors use different banks
  CHECK(persistent_sums_offset(shape, 4) - persistent_states_offset(shape) == 8 * 4 * 11 * 64);
  CHECK(persistent_shared_bytes(shape, 4) - persistent_sums_offset(shape, 4) == 2 * 8 * 66 * 4 * 4);
  CHECK(persistent_shared_bytes(shape, 4) <= 232448);  // the limit of the device
}

TEST_CASE("persistent: refusals name the reason") {
  const auto says = [](const std::string& text, const std::string& word) {
    CAPTURE(text);
    CHECK(text.find(word) != std::string::npos);
  };
  Layer layer = inference_layer("gru", {64, 2, 3});
  CHECK(refusal_of(layer).empty());
  says(refusal_of(inference_layer("gru_reset_before", {64, 2, 3})), "cell=gru");
  says(refusal_of(inference_layer("gru", {64, 9, 3})), "batches up to 8");
  CHECK(refusal_of(inference_layer("gru", {71, 2, 3})).empty());
  says(refusal_of(inference_layer("gru", {64, 2, 3}, "float")), "half and bfloat16");
  says(refusal_of(inference_layer("gru", {4096, 1, 3})), "do not fit");
  says(refusal_of(inference_layer("gru", {int64_t{1} << 40, 1, 3})), "do not fit");
  says(refusal_of(inference_layer("vanilla", {4240, 8, 3})), "272 states");
  layer.mode = "training";
  says(refusal_of(layer), "inference");
  layer.phase = "bwd_data";
  says(refusal_of(layer), "inference");
  cuda::DeviceFacts old = hopper_facts();
  old.major = 7;
  says(refusal_of(inference_layer("gru", {64, 2, 3}), old), "8.0");
  cuda::DeviceFacts alone = hopper_facts();
  alone.cooperative_launch = false;
  says(refusal_of(inference_layer("gru", {64, 2, 3}), alone), "launches blocks together");
}

TEST_CASE("persistent: blocks that do not fit on the device together are refused") {
  cuda::LaunchShape shape;
  shape.grid_x = 128;
  shape.cooperative = true;
  cuda::DeviceFacts device = hopper_facts();
  CHECK_NOTHROW(cuda::require_resident_blocks(shape, 1, device));
  device.multiprocessors = 127;
  CHECK_NOTHROW(cuda::require_resident_blocks(shape, 2, device));
  const auto refusal = [&](uint64_t per_multiprocessor) -> std::string {
    try {
      cuda::require_resident_blocks(shape, per_multiprocessor, device);
      return "";
    } catch (const plugin::Error& error) {
      CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
      return error.what();
    }
  };
  CHECK(refusal(1) ==
        "128 blocks wait for one another, but only 127 of them fit on this device at the same "
        "time");
  CHECK(refusal(0).find("only 0") != std::string::npos);
  device.cooperative_launch = false;
  CHECK(refusal(2).find("does not launch") != std::string::npos);
}

TEST_CASE("persistent: the kernel instances that the host names compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("persistent");
  for (const Layer& layer :
       {inference_layer("gru", {2816, 4, 3}), inference_layer("lstm", {1021, 4, 3}),
        inference_layer("vanilla", {1040, 7, 3}, "bfloat16")}) {
    const std::string expression =
        cuda::persistent_expression(layer.rnn(), plans_of(layer).front());
    CAPTURE(expression);
    CHECK_FALSE(cuda::compile(source, expression, 90).code.empty());
  }
}

TEST_CASE("gpu: persistent: every cell, type and block shape is correct") {
  REQUIRE_GPU();
  // hidden=1040 has 65 tiles for 8 warps, hidden=2816 has partial tiles, one step exchanges no
  // states, and the rows of some sizes are aligned to no vector.
  const std::vector<LayerSizes> all = {{16, 1, 1},  {48, 3, 5},   {64, 8, 4},   {256, 5, 9},
                                       {512, 4, 3}, {1040, 7, 3}, {1536, 2, 2}, {2816, 1, 3},
                                       {2, 1, 4},   {37, 3, 5},   {1021, 4, 3}, {1500, 2, 3}};
  for (const std::string precision : {"half", "bfloat16"})
    for (const std::string cell : kSupportedCells)
      for (const LayerSizes& sizes : all) {
        const Layer layer = inference_layer(cell, sizes, precision);
        const std::string problem = layer.text();
        CAPTURE(problem);
        const ProblemRequest request("rnn", problem, "library=persistent");
        if (request.plan_status() != DEEPBENCH_OK) {
          CHECK(cell == "lstm");
          CHECK(sizes.hidden == 2816);
          continue;
        }
        for (const std::string& id : request.candidates())
          check_layer(layer, "library=persistent candidate=" + id);
      }
}

TEST_CASE("gpu: persistent: a call is not affected by earlier calls") {
  REQUIRE_GPU();
  for (const int64_t steps : {1, 2, 3, 8}) {
    const Layer layer = inference_layer("lstm", {128, 2, steps});
    const auto outputs = uint64_t(layer.rnn().outputs());
    LayerRun cold(layer, "library=persistent cache=cold"), hot(layer, "library=persistent");
    REQUIRE(cold.status() == DEEPBENCH_OK);
    REQUIRE(hot.status() == DEEPBENCH_OK);
    cold.call(1);
    const std::vector<double> first = cold.read(outputs);
    for (LayerRun* run : {&cold, &hot})
      for (const int32_t launch : {DEEPBENCH_LAUNCH_BEST, DEEPBENCH_LAUNCH_STREAM}) {
        run->poison();
        run->call(200, launch);
        CHECK(run->scan().untouched == 0);
        CHECK(run->read(outputs) == first);
      }
    CHECK(hot.call(5, DEEPBENCH_LAUNCH_STREAM).launch == DEEPBENCH_LAUNCH_STREAM);
  }
}

TEST_CASE("gpu: persistent: the row states the padding") {
  REQUIRE_GPU();
  const LayerRun padded(inference_layer("gru", {1021, 2, 3}), "library=persistent");
  REQUIRE(padded.status() == DEEPBENCH_OK);
  CHECK(padded.describe().text("padded.hidden") == "1024");
  CHECK(padded.describe().text("padding_rule").find("multiple of 32") != std::string::npos);
  const LayerRun whole(inference_layer("gru", {1024, 2, 3}), "library=persistent");
  REQUIRE(whole.status() == DEEPBENCH_OK);
  CHECK_FALSE(whole.describe().has("padded.hidden"));
}

TEST_CASE("gpu: persistent: it competes with cuDNN, whose default remains the first candidate") {
  REQUIRE_GPU();
  const std::string problem = inference_layer("gru", {512, 1, 4}).text();
  const auto ids = ProblemRequest("rnn", problem, "limit=32").candidates();
  REQUIRE(ids.size() >= 2);
  CHECK(ids[0] == "cudnn:standard");
  CHECK(ids[1].rfind("persistent:units=", 0) == 0);
  LayerRun run(inference_layer("gru", {512, 1, 4}), "candidate=" + ids[1]);
  REQUIRE(run.status() == DEEPBENCH_OK);
  CHECK(run.describe().text("library").rfind("persistent ", 0) == 0);
  CHECK(ProblemRequest("rnn", problem, "library=persistent candidate=units=3").plan_status() ==
        DEEPBENCH_INVALID);
}

}  // namespace
}  // namespace deepbench::cuda_test
