// The built-in kernels of elementwise work, run by the host without a device: every kind and type,
// at sizes with and without numbers behind the last vector, and heads whose halves are no vectors.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/worst_error.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/elementwise/elementwise.hpp"
#include "map_arrays.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <elementwise.cu>

namespace deepbench::cuda_test {
namespace {

template <class T>
void combine_as(ElementwiseKind kind, const CombinedArrays& arrays) {
  switch (kind) {
    case ElementwiseKind::kMultiply:
      return combine<T, ELEMENTWISE_MULTIPLY>(arrays);
    case ElementwiseKind::kSwiglu:
      return combine<T, ELEMENTWISE_SWIGLU>(arrays);
    default:
      return combine<T, ELEMENTWISE_ADD>(arrays);
  }
}

template <class T>
void run(const Elementwise& elementwise, MapArrays& held, uint32_t blocks) {
  const CombinedArrays pair = {held.input(0), held.input(1), held.result(), elementwise.elements()};
  RotatedHeads heads = {};
  if (elementwise.is_rotary())
    heads = {held.input(0),
             held.input(1),
             held.input(2),
             held.result(),
             uint64_t(elementwise.rows),
             uint64_t(elementwise.heads()),
             uint64_t(elementwise.half())};
  const bool has_vectors = elementwise.half() % Vector<T>::kNumbers == 0;
  emulate({blocks, 1, 1, 32, 1, 1, 0}, Barriers::kNone, [&] {
    if (!elementwise.is_rotary()) return combine_as<T>(elementwise.kind, pair);
    has_vectors ? rotate<T, true>(heads) : rotate<T, false>(heads);
  });
}

void check(const std::string& line, uint32_t blocks) {
  CAPTURE(line);
  const Problem problem = Problem::parse(line);
  const Elementwise elementwise = elementwise_problem(problem);
  MapArrays held(elementwise.inputs(), elementwise.type(), elementwise.elements());
  if (elementwise.type() == DEEPBENCH_F16)
    run<Half>(elementwise, held, blocks);
  else if (elementwise.type() == DEEPBENCH_BF16)
    run<Bfloat16>(elementwise, held, blocks);
  else
    run<Float>(elementwise, held, blocks);
  CHECK(held.is_guarded());
  const ExpectedOutput expected = problem.operation().expected_output(problem, {});
  CHECK(testing::worst_error(expected, held.output()) <= 1);
}

TEST_CASE("elementwise kernels: every kind, type and size") {
  for (const std::string precision : {"float", "half", "bfloat16"}) {
    const std::string end = " precision=" + precision;
    for (const std::string kind : {"add", "multiply", "swiglu"})
      for (const std::string shape : {"rows=1 columns=1", "rows=1 columns=8", "rows=17 columns=59"})
        check("elementwise kind=" + kind + " " + shape + end, 1 + shape.size() % 3);
    for (const std::string shape :
         {"rows=1 columns=2 dim=2", "rows=3 columns=96 dim=32", "rows=5 columns=60 dim=12"})
      check("elementwise kind=rotary " + shape + end, 2);
  }
}

// The host names an instance by the number of its kind.
TEST_CASE("elementwise kernels: the kinds have the host's numbers") {
  CHECK(int(ElementwiseKind::kAdd) == ELEMENTWISE_ADD);
  CHECK(int(ElementwiseKind::kMultiply) == ELEMENTWISE_MULTIPLY);
  CHECK(int(ElementwiseKind::kSwiglu) == ELEMENTWISE_SWIGLU);
  CHECK(int(ElementwiseKind::kRotary) == ELEMENTWISE_ROTARY);
}

}  // namespace
}  // namespace deepbench::cuda_test
