// The built-in kernels of softmax, run by the host without a device: both phases in every type,
// with rows of a warp and of a block, at the beginning of a vector and elsewhere.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../mutants/outputs.hpp"
#include "../ops/naive_rows.hpp"
#include "../ops/worst_error.hpp"
#include "deepbench/core/operation.hpp"
#include "map_arrays.hpp"
#include "ops/softmax/builtin_plan.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <softmax.cu>

namespace deepbench::cuda_test {
namespace {

template <class T, bool kForward>
void launch(bool is_block, bool aligned, const SoftmaxArrays& arrays) {
  if (is_block && aligned) return softmax_rows<T, kForward, true, true>(arrays);
  if (is_block) return softmax_rows<T, kForward, true, false>(arrays);
  if (aligned) return softmax_rows<T, kForward, false, true>(arrays);
  softmax_rows<T, kForward, false, false>(arrays);
}

template <class T>
void launch(const cuda::BuiltinSoftmaxPlan& plan, bool forward, const SoftmaxArrays& arrays) {
  const std::string end = plan.expression.substr(plan.expression.find(',') + 1);
  const bool is_block = end.find("true", end.find(',')) < end.rfind(',');
  const bool aligned = end.find("true", end.rfind(',')) != std::string::npos;
  emulate(plan.shape, Barriers::kUsed, [&] {
    forward ? launch<T, true>(is_block, aligned, arrays)
            : launch<T, false>(is_block, aligned, arrays);
  });
}

void check(const std::string& line, const std::string& candidate, const std::string& inputs) {
  CAPTURE(line);
  CAPTURE(candidate);
  CAPTURE(inputs);
  const Problem problem = Problem::parse(line);
  const Softmax softmax = softmax_problem(problem);
  MapArrays held(softmax.inputs(), softmax.type(), softmax.elements(), inputs);
  SoftmaxArrays arrays = {};
  arrays.x = held.input(0);
  if (!softmax.is_forward) arrays.dy = held.input(1);
  arrays.result = held.result();
  arrays.rows = uint64_t(softmax.rows), arrays.columns = uint64_t(softmax.columns);
  const cuda::BuiltinSoftmaxPlan plan = cuda::builtin_softmax_plan(softmax, candidate);
  if (softmax.type() == DEEPBENCH_F16)
    launch<Half>(plan, softmax.is_forward, arrays);
  else if (softmax.type() == DEEPBENCH_BF16)
    launch<Bfloat16>(plan, softmax.is_forward, arrays);
  else
    launch<Float>(plan, softmax.is_forward, arrays);
  CHECK(held.is_guarded());
  KernelConditions conditions;
  conditions.inputs = inputs;
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  CHECK(testing::worst_error(expected, held.output()) <= 1);
}

TEST_CASE("softmax kernels: rows of every alignment in both phases and every type") {
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string shape :
           {"rows=1 columns=1", "rows=9 columns=33", "rows=3 columns=40", "rows=2 columns=1000"})
        for (const std::string candidate : {"warp", "block"})
          check("softmax " + shape + " phase=" + phase + " precision=" + precision, candidate,
                "uniform");
}

TEST_CASE("softmax kernels: the maximum is subtracted, wherever it lies") {
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const std::string candidate : {"warp", "block"})
      check("softmax rows=20 columns=600 precision=" + precision, candidate, "integers");
}

TEST_CASE("softmax plans: a short row has a warp, a long one a block of several warps") {
  const auto softmax_of = [](const std::string& attributes) {
    return softmax_problem(Problem::parse("softmax " + attributes));
  };
  CHECK(cuda::builtin_softmax_candidates(softmax_of("rows=9 columns=384")).front() == "warp");
  CHECK(cuda::builtin_softmax_candidates(softmax_of("rows=9 columns=32000")).front() == "block");
  const auto warps = cuda::builtin_softmax_plan(softmax_of("rows=17 columns=384"), "warp");
  CHECK(warps.shape.grid_x == 3);
  CHECK(warps.shape.block_x == 256);
  CHECK(warps.expression == "softmax_rows<Float, true, false, true>");
  const auto block = cuda::builtin_softmax_plan(
      softmax_of("rows=5 columns=32001 precision=half phase=bwd"), "block");
  CHECK(block.shape.grid_x == 5);
  CHECK(block.shape.block_x == 1024);
  CHECK(block.expression == "softmax_rows<Half, false, true, false>");
  CHECK(cuda::builtin_softmax_plan(softmax_of("rows=5 columns=100"), "block").shape.block_x == 32);
  CHECK_THROWS_AS(cuda::builtin_softmax_plan(softmax_of("rows=4294967296 columns=4"), "block"),
                  plugin::Error);
}

}  // namespace
}  // namespace deepbench::cuda_test
