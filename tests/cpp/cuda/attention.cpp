// Attention on the CUDA backend: the choice of the softmax kernel without a device, and every route
// against plain loops on one.
#include "deepbench/ops/attention/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/plugin.hpp"
#include "gpu.hpp"
#include "kernel_run.hpp"
#include "ops/attention/cudnn_limits.hpp"
#include "ops/attention/softmax.hpp"

namespace deepbench::cuda_test {
namespace {

Attention attention_of(const std::string& problem) {
  const NamedValues named(problem);
  return attention_problem(plugin::Values(named.get()));
}

TEST_CASE("attention: the softmax kernel takes a row by one or eight warps") {
  const cuda::SoftmaxPlan narrow(attention_of(
      "batch=2 heads=4 kv_heads=2 seq_q=3 seq_kv=1024 dim=64 mask=none precision=half"));
  CHECK(narrow.expression() == "attention_softmax<2, 8, 1>");
  CHECK(narrow.gradient_expression() == "attention_softmax_gradient<2, 8, 1>");
  CHECK(narrow.sink_expression() == "attention_sink_gradient<8>");
  CHECK(narrow.sink_shape().grid_x == 4);
  CHECK(narrow.shape().grid_x == 3);
  CHECK(narrow.shape().block_x == 32);
  CHECK(narrow.shape().block_y == 8);
  const cuda::SoftmaxPlan wide(attention_of(
      "batch=2 heads=4 seq_q=3 seq_kv=1025 dim=64 mask=bottom_right window=7 precision=float"));
  CHECK(wide.expression() == "attention_softmax<1, 1, 8>");
  CHECK(wide.shape().grid_x == 24);
  CHECK(wide.shape().block_x == 256);
  CHECK(wide.softmax.diagonal == 1022);
  CHECK(wide.softmax.window == 7);
}

std::string refusal(const std::string& problem, const std::string& version = "9.19.0") {
  try {
    cuda::require_fused_attention(attention_of(problem), version);
    return "";
  } catch (const plugin::Error& error) {
    return error.what();
  }
}

TEST_CASE("attention: what cuDNN's fused engines do not compute is refused with the reason") {
  const std::string heads = "batch=1 heads=2 ";
  const std::string right = heads + "seq_q=64 seq_kv=64 dim=64 mask=bottom_right precision=half";
  CHECK(refusal(right) == "");
  CHECK(refusal(right, "9.10.2") == "");
  CHECK(refusal(right, "9.10.0").find("9.10.0 computes attention wrongly") != std::string::npos);
  CHECK(refusal(right, "9.10.1.4").find("wrongly") != std::string::npos);
  CHECK(refusal(heads + "seq_q=64 seq_kv=64 dim=64 mask=none precision=float").find("float") !=
        std::string::npos);
  CHECK(refusal(heads + "seq_q=64 seq_kv=64 dim=68 mask=none precision=half")
            .find("multiples of 8") != std::string::npos);
  CHECK(refusal(heads + "seq_q=65 seq_kv=64 dim=64 mask=bottom_right precision=half")
            .find("see no key") != std::string::npos);
  CHECK(refusal(heads + "seq_q=65 seq_kv=64 dim=64 mask=top_left precision=half") == "");
  CHECK(refusal(heads + "seq_q=1 seq_kv=1 dim=64 mask=none precision=half").find("one key") !=
        std::string::npos);
  CHECK(refusal(right + " phase=bwd", "9.16.0") == "");
  CHECK(refusal(right + " phase=bwd", "9.15.1").find("9.16 and later") != std::string::npos);
  CHECK(refusal(right + " phase=bwd sink=yes").find("a sink") != std::string::npos);
  CHECK(refusal(right + " sink=yes").find("a sink") != std::string::npos);
}

// Compares an output with the float64 reference, within its bounds.
void check_output(const std::string& text, const KernelRun& run, const std::string& inputs,
                  uint32_t output) {
  const Problem problem = Problem::parse("attention " + text);
  KernelConditions conditions;
  conditions.seed = kSeed;
  conditions.inputs = inputs;
  conditions.output = output;
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  const std::vector<double> got = run.read(expected.outputs, output);
  double worst = 0;
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    const double error = std::abs(got[expected.indices[i]] - expected.values[i]);
    worst = std::max(worst, expected.bounds[i] > 0 ? error / expected.bounds[i] : 1e9 * error);
  }
  INFO(inputs, ", output ", output, ": worst error ", worst, " of its bound");
  CHECK(worst <= 1);
  if (expected.projection_rows == 0) return;
  const std::vector<double> sums =
      run.project(expected.projection_rows, expected.projection_seed, output);
  for (size_t i = 0; i < sums.size(); ++i)
    CHECK(std::abs(sums[i] - expected.projections[i]) <= expected.projection_bounds[i]);
}

void check_problem(const std::string& problem, const std::string& options) {
  CAPTURE(problem);
  CAPTURE(options);
  KernelRun run("attention", problem, options);
  REQUIRE_MESSAGE(run.status() == DEEPBENCH_OK, run.error());
  const Attention attention = attention_of(problem);
  const std::vector<AttentionPart> parts = attention.outputs();
  run.poison();
  for (uint32_t output = 0; output < parts.size(); ++output)
    CHECK(run.scan(output).untouched == uint64_t(attention.elements(parts[output])));
  run.call(3);
  for (uint32_t output = 0; output < parts.size(); ++output) {
    CHECK(run.scan(output).untouched == 0);
    CHECK(run.scan(output).non_finite == 0);
    check_output(problem, run, "uniform", output);
  }
  REQUIRE(table().refill(run.handle(), "integers", kSeed) == DEEPBENCH_OK);
  run.call(1);
  for (uint32_t output = 0; output < parts.size(); ++output)
    check_output(problem, run, "integers", output);
}

// An engine that a version of cuDNN lacks for a shape is said and left out, but not every one.
void check_fused(const std::vector<std::string>& problems, int fewest) {
  int supported = 0;
  for (const std::string precision : {" precision=half", " precision=bfloat16"})
    for (const std::string& problem : problems) {
      const std::string text = problem + precision;
      const ProblemRequest request("attention", text, "library=cudnn");
      if (request.plan_status() == DEEPBENCH_UNSUPPORTED) {
        MESSAGE(text << ": " << request.plan_error());
        continue;
      }
      check_problem(text, "library=cudnn");
      ++supported;
    }
  CHECK(supported >= fewest);
}

TEST_CASE("gpu: attention and its gradients unfused, in every precision, mask and grouping") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "tf32", "half", "bfloat16"})
    for (const std::string problem :
         {"batch=2 heads=6 kv_heads=2 seq_q=24 seq_kv=40 dim=32 dim_v=16 mask=bottom_right",
          "batch=1 heads=2 seq_q=33 seq_kv=33 dim=64 mask=top_left window=5",
          "batch=3 heads=4 kv_heads=1 seq_q=1 seq_kv=2048 dim=64 mask=bottom_right",
          "batch=1 heads=2 seq_q=17 seq_kv=5 dim=8 mask=bottom_right",
          "batch=2 heads=2 seq_q=16 seq_kv=64 dim=192 dim_v=128 mask=none"})
      for (const std::string kind : {"", " sink=yes", " phase=bwd", " phase=bwd sink=yes"})
        check_problem(problem + (" precision=" + precision) + kind, "library=unfused");
}

TEST_CASE("gpu: attention fused by cuDNN, in every mask and grouping") {
  REQUIRE_GPU();
  check_fused({"batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none",
               "batch=2 heads=6 kv_heads=2 seq_q=128 seq_kv=128 dim=128 mask=top_left",
               "batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=192 dim=64 mask=bottom_right",
               "batch=1 heads=2 seq_q=192 seq_kv=192 dim=64 mask=top_left window=50",
               "batch=1 heads=2 seq_q=100 seq_kv=300 dim=64 mask=bottom_right window=70",
               "batch=3 heads=8 kv_heads=2 seq_q=1 seq_kv=1024 dim=128 mask=bottom_right",
               "batch=1 heads=2 seq_q=128 seq_kv=128 dim=192 dim_v=128 mask=top_left"},
              6);
}

// Whether this cuDNN is too old for its gradients to be described, which the reason must say.
bool are_gradients_unsupported() {
  const ProblemRequest request(
      "attention", "batch=1 heads=1 seq_q=64 seq_kv=64 dim=64 mask=none precision=half phase=bwd",
      "library=cudnn");
  if (request.plan_status() == DEEPBENCH_OK) return false;
  MESSAGE(request.plan_error());
  CHECK(request.plan_error().find("to cuDNN 9.16 and later") != std::string::npos);
  return true;
}

TEST_CASE("gpu: gradients of attention fused by cuDNN, in every mask and grouping") {
  REQUIRE_GPU();
  if (are_gradients_unsupported()) return;
  check_fused({"batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none phase=bwd",
               "batch=2 heads=6 kv_heads=2 seq_q=128 seq_kv=128 dim=128 mask=top_left phase=bwd",
               "batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=192 dim=64 mask=bottom_right phase=bwd",
               "batch=1 heads=2 seq_q=192 seq_kv=192 dim=64 mask=top_left window=50 phase=bwd",
               "batch=1 heads=2 seq_q=100 seq_kv=300 dim=64 mask=bottom_right window=70 phase=bwd",
               "batch=1 heads=2 seq_q=65 seq_kv=64 dim=64 mask=top_left phase=bwd",
               "batch=1 heads=2 seq_q=128 seq_kv=128 dim=192 dim_v=128 mask=top_left phase=bwd"},
              8);
}

TEST_CASE("gpu: every candidate of cuDNN computes the gradients of attention") {
  REQUIRE_GPU();
  if (are_gradients_unsupported()) return;
  const std::string problem =
      "batch=2 heads=4 kv_heads=2 seq_q=128 seq_kv=128 dim=64 mask=top_left precision=bfloat16 "
      "phase=bwd";
  const ProblemRequest request("attention", problem, "library=cudnn limit=8");
  REQUIRE_MESSAGE(request.plan_status() == DEEPBENCH_OK, request.plan_error());
  for (const std::string& id : request.candidates()) {
    const std::string options = "library=cudnn candidate=" + id;
    if (ProblemRequest("attention", problem, options).plan_status() == DEEPBENCH_UNSUPPORTED)
      MESSAGE(id << " cannot be built");
    else
      check_problem(problem, options);
  }
}

TEST_CASE("gpu: attention refuses precisions without products") {
  REQUIRE_GPU();
  const ProblemRequest request(
      "attention", "batch=1 heads=1 seq_q=8 seq_kv=8 dim=16 mask=none precision=int8", "");
  CHECK(request.plan_status() == DEEPBENCH_UNSUPPORTED);
}

}  // namespace
}  // namespace deepbench::cuda_test
