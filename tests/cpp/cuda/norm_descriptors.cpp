// Descriptions of normalizations to the real cuDNN without a device, which are the first step of a
// plan.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/plugin.hpp"
#include "ops/norm/cudnn_graph.hpp"
#include "real_cudnn.hpp"

namespace deepbench::cuda_test {
namespace {

// Writes the library's reason, if it rejects the description.
bool has_engine(const std::string& problem) {
  const testing::NamedValues named(problem);
  try {
    const cuda::NormOperation operation(norm_problem(plugin::Values(named.get())));
    return has_engine_on_hopper(operation.descriptors());
  } catch (const plugin::Error& error) {
    std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
    return false;
  }
}

bool has_engines(const std::string& sizes, const std::vector<std::string>& phases) {
  for (const std::string& phase : phases)
    for (const std::string precision : {"half", "bfloat16", "float"})
      if (!has_engine(sizes + " phase=" + phase + " precision=" + precision)) return false;
  return true;
}

TEST_CASE("cuDNN has engines for normalizations of rows on an H100") {
  if (!has_libraries()) return;
  for (const std::string kind : {"kind=layer", "kind=rms"})
    for (const std::string sizes : {" rows=16384 columns=1024", " rows=70 columns=333"})
      CHECK(run_in_process_with_driver([&] {
        return has_engines(kind + sizes, {"training", "inference", "bwd"});
      }));
}

TEST_CASE("cuDNN has engines for normalizations of an even number of columns on an H100") {
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([] {
    return has_engines("kind=batch rows=100352 columns=256", {"training", "bwd"});
  }));
  // Where there is no engine, the query says so.
  CHECK(run_in_process_with_driver(
      [] { return !has_engine("kind=batch rows=70 columns=333 phase=training precision=half"); }));
}

TEST_CASE("normalizations that cuDNN's graph API does not have are unsupported") {
  const auto reason = [](const std::string& problem) {
    const testing::NamedValues named(problem);
    try {
      cuda::NormOperation operation(norm_problem(plugin::Values(named.get())));
    } catch (const plugin::Error& error) {
      return error.status() == DEEPBENCH_UNSUPPORTED ? std::string(error.what()) : "";
    }
    return std::string();
  };
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([&] {
    return reason("kind=batch rows=64 columns=64 phase=inference precision=half")
                   .find("kind=batch phase=inference") != std::string::npos &&
           reason("kind=group groups=2 rows=64 columns=64 phase=training precision=half")
                   .find("kind=group") != std::string::npos;
  }));
}

}  // namespace
}  // namespace deepbench::cuda_test
