// The built-in kernel of activations, run by the host without a device: every kind, phase and type,
// at sizes with and without numbers behind the last vector.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/worst_error.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/activation/activation.hpp"
#include "map_arrays.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <activation.cu>

namespace deepbench::cuda_test {
namespace {

template <class T, bool kForward>
void launch(ActivationKind kind, const ActivationArrays& arrays) {
  switch (kind) {
    case ActivationKind::kRelu:
      return activate<T, ACTIVATION_RELU, kForward>(arrays);
    case ActivationKind::kGelu:
      return activate<T, ACTIVATION_GELU, kForward>(arrays);
    case ActivationKind::kSilu:
      return activate<T, ACTIVATION_SILU, kForward>(arrays);
    case ActivationKind::kSigmoid:
      return activate<T, ACTIVATION_SIGMOID, kForward>(arrays);
    case ActivationKind::kTanh:
      return activate<T, ACTIVATION_TANH, kForward>(arrays);
  }
}

template <class T>
void run(const Activation& activation, const ActivationArrays& arrays, uint32_t blocks) {
  emulate({blocks, 1, 1, 32, 1, 1, 0}, Barriers::kNone, [&] {
    activation.is_forward ? launch<T, true>(activation.kind, arrays)
                          : launch<T, false>(activation.kind, arrays);
  });
}

TEST_CASE("activation kernels: every kind, phase, type and size") {
  for (const std::string kind : {"relu", "gelu", "silu", "sigmoid", "tanh"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string precision : {"float", "half", "bfloat16"})
        for (const std::string elements : {"1", "7", "8", "1003", "5000"}) {
          const std::string line = "activation kind=" + kind + " elements=" + elements +
                                   " phase=" + phase + " precision=" + precision;
          CAPTURE(line);
          const Problem problem = Problem::parse(line);
          const Activation activation = activation_problem(problem);
          MapArrays held(activation.inputs(), activation.type(), activation.elements);
          ActivationArrays arrays = {};
          arrays.x = held.input(0);
          if (!activation.is_forward) arrays.dy = held.input(1);
          arrays.result = held.result(), arrays.elements = activation.elements;
          const uint32_t blocks = elements == "1003" ? 3 : 1;
          if (precision == "half")
            run<Half>(activation, arrays, blocks);
          else if (precision == "bfloat16")
            run<Bfloat16>(activation, arrays, blocks);
          else
            run<Float>(activation, arrays, blocks);
          CHECK(held.is_guarded());
          const ExpectedOutput expected = problem.operation().expected_output(problem, {});
          CHECK(testing::worst_error(expected, held.output()) <= 1);
        }
}

// The host names an instance by the number of its kind.
TEST_CASE("activation kernels: the kinds have the host's numbers") {
  CHECK(int(ActivationKind::kRelu) == ACTIVATION_RELU);
  CHECK(int(ActivationKind::kGelu) == ACTIVATION_GELU);
  CHECK(int(ActivationKind::kSilu) == ACTIVATION_SILU);
  CHECK(int(ActivationKind::kSigmoid) == ACTIVATION_SIGMOID);
  CHECK(int(ActivationKind::kTanh) == ACTIVATION_TANH);
}

}  // namespace
}  // namespace deepbench::cuda_test
