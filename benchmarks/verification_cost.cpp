// Measures the cost of verification on the host: nanoseconds per generated element and thread, for
// every type and vector unit, and milliseconds for the expectations of problems. The problems come
// from standard input, one per line (for example from: python -m deepbench list training gemm
// precision=half).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/simd_level.hpp"
#include "deepbench/core/sums.hpp"

namespace {

using deepbench::SimdLevel;

template <class Body>
double elapsed_ns(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

struct NamedType {
  const char* name;
  deepbench_type type;
};
constexpr NamedType kTypes[] = {{"float", DEEPBENCH_F32},     {"half", DEEPBENCH_F16},
                                {"bfloat16", DEEPBENCH_BF16}, {"e4m3", DEEPBENCH_E4M3},
                                {"e5m2", DEEPBENCH_E5M2},     {"s8", DEEPBENCH_S8},
                                {"u8", DEEPBENCH_U8}};

// Generates four columns of 512 elements and adds them to a vector of sums; the minimum of 20 runs.
double element_ns(deepbench_type type) {
  constexpr int64_t kRows = 512, kColumns = 4;
  constexpr int kRepeats = 50;
  const deepbench::InputGenerator inputs(1, "uniform");
  std::vector<float> block(kRows * kColumns);
  std::vector<double> sums(kRows), squares(kRows), factors(kColumns, 0.5);
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double all = elapsed_ns([&] {
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        inputs.fill(type, 0, 0, 1, kRows * kColumns, block.data());
        deepbench::add_columns(block.data(), kRows, kRows, kColumns, factors.data(), sums.data(),
                               squares.data());
      }
    });
    least = std::min(least, all / (kRepeats * kRows * kColumns));
  }
  return least;
}

void print_element_costs() {
  const SimdLevel widest = deepbench::simd_level();
  const std::pair<SimdLevel, const char*> units[] = {{SimdLevel::kBaseline, "baseline"},
                                                     {SimdLevel::kAvx2, "avx2"},
                                                     {SimdLevel::kAvx512, "avx512"}};
  for (const auto& [unit, name] : units) {
    if (deepbench::limit_simd_level(unit) != unit) break;
    std::printf("%-9s", name);
    for (const NamedType& type : kTypes)
      std::printf("  %s %.2f ns", type.name, element_ns(type.type));
    std::printf("\n");
  }
  deepbench::limit_simd_level(widest);
}

}  // namespace

int main() {
  print_element_costs();
  double total_ms = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto problem = deepbench::Problem::parse(line);
    size_t checked = 0;
    const double ms = 1e-6 * elapsed_ns([&] {
                        checked = problem.operation().expected_output(problem, {}).indices.size();
                      });
    total_ms += ms;
    std::printf("%8.2f ms  %5zu points  %s\n", ms, checked, line.c_str());
  }
  std::printf("%8.2f ms  in all, on %d threads\n", total_ms, deepbench::parallel_threads());
}
