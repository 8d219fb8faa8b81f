// Runs one problem on the CPU through the installed C++ core, and prints a line about the row.
//   embed "gemm m=64 n=48 k=80 precision=float"
#include <cstdio>
#include <exception>
#include <string>

#include "deepbench/deepbench.hpp"

namespace {

int measure(const char* text) {
  const deepbench::Problem problem = deepbench::Problem::parse(text);
  const deepbench::Backend backend = deepbench::load_backend("cpu");
  deepbench::RunOptions options;
  options.apply("samples=10 threads=1");
  const deepbench::Row row = deepbench::run(backend, problem, options);
  if (row.status != deepbench::Status::kOk) {
    std::printf("%s: %s\n", row.problem.c_str(), row.reason.c_str());
    return 1;
  }
  const bool passed = row.verification.state == deepbench::Verification::State::kPassed;
  std::printf("%s: %.2f us, verification %s\n", row.problem.c_str(), row.median_ns() / 1e3,
              passed ? "passed" : "did not pass");
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure(argc > 1 ? argv[1] : "gemm m=64 n=64 k=64 precision=float");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 2;
  }
}
