// Measures how long the built-in kernels take to load in a new process. Run it twice: the second
// run reads the machine code from disk. Goal with a warm cache: 50 ms. It is built with the tests,
// since it needs the plugin's objects:
//   build/tests/kernel_cache
#include <chrono>
#include <cstdio>
#include <utility>

#include "kernels/jit.hpp"
#include "stream.hpp"

namespace {

// One kernel of each source file, since each file is one module.
constexpr std::pair<const char*, const char*> kKernels[] = {
    {"clock", "stamp"},       {"operand", "fill_elements"},     {"projection", "combine_parts"},
    {"memory", "fill_words"}, {"transpose", "transpose_words"},
};

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

int main() {
  const auto start = std::chrono::steady_clock::now();
  const deepbench::cuda::Stream& stream = deepbench::cuda::Stream::of(0);
  std::printf("device and stream %8.1f ms\n", ms_since(start));
  const auto all = std::chrono::steady_clock::now();
  for (const auto& [file, name] : kKernels) {
    const auto begin = std::chrono::steady_clock::now();
    deepbench::cuda::function(file, name, stream);
    std::printf("%-12s      %8.1f ms\n", file, ms_since(begin));
  }
  std::printf("all kernels       %8.1f ms\n", ms_since(all));
}
