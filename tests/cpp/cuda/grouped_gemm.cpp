// Products of groups on the device through cuBLAS's grouped call and the loop over cuBLASLt: every
// output against the definition, empty groups, graphs, refills and refusals.
#include <doctest/doctest.h>

#include <string>

#include "../cpu/naive_grouped_gemm.hpp"
#include "gpu.hpp"
#include "implementation.hpp"
#include "kernel_run.hpp"
#include "routes.hpp"

namespace deepbench::cuda_test {
namespace {

using testing::NaiveGroupedGemm;
using testing::parse_grouped_gemm;

constexpr const char* kLibraries[] = {"cublas", "cublaslt_loop"};

struct GroupedRun : KernelRun {
  GroupedRun(const std::string& problem, const std::string& options)
      : KernelRun("grouped_gemm", problem, options) {}
};

std::string with_library(const std::string& library, const std::string& rest = "") {
  return "library=" + library + " " + rest;
}

// The problem with the roundoff of tf32's inputs, because the definition knows only that of sums.
GroupedGemm with_roundoff_of_units(GroupedGemm problem) {
  if (problem.precision.precision == Precision::kTf32)
    problem.precision.sum_roundoff = kRoundoffTf32;
  return problem;
}

void check_problem(const std::string& library, const std::string& problem,
                   const std::string& options = "") {
  CAPTURE(library);
  CAPTURE(problem);
  GroupedRun run(problem, with_library(library, options));
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  const GroupedGemm of = with_roundoff_of_units(parse_grouped_gemm(problem));
  const auto outputs = uint64_t(of.rows * of.n);
  CHECK(run.scan().untouched == outputs);  // also after the call that asks for a kernel
  run.call(1);
  const deepbench_scan scan = run.scan();
  CHECK(scan.untouched == 0);
  CHECK(scan.non_finite == 0);
  CHECK(NaiveGroupedGemm(of, kSeed).count_wrong(run.read(outputs)) == 0);
  MESSAGE(library << ": " << problem << ": " << run.describe().text("algorithm"));
}

TEST_CASE("gpu: grouped_gemm: every output of every split, with empty groups") {
  REQUIRE_GPU();
  for (const std::string library : kLibraries)
    for (const std::string precision : {"float", "tf32", "half", "bfloat16"})
      for (const std::string split : {"uniform", "multinomial", "zipf"})
        for (const std::string sizes :
             {"groups=30 rows=40 n=64 k=128", "groups=16 rows=300 n=72 k=40"}) {
          const std::string problem = sizes + " split=" + split + " precision=" + precision;
          if (GroupedRun tried(problem, with_library(library));
              tried.status() == DEEPBENCH_UNSUPPORTED) {
            MESSAGE(library << ": " << problem << ": " << tried.error());
            CHECK(library == "cublas");
            CHECK(precision == "tf32");
            continue;
          }
          check_problem(library, problem);
        }
}

TEST_CASE("gpu: grouped_gemm: sizes that no unit divides run, or are refused with a reason") {
  REQUIRE_GPU();
  for (const std::string library : kLibraries)
    for (const std::string precision : {"float", "half"})
      for (const std::string sizes :
           {"groups=3 rows=10 n=33 k=65", "groups=1 rows=1 n=1 k=1", "groups=200 rows=7 n=5 k=3"}) {
        const std::string problem = sizes + " split=multinomial precision=" + precision;
        if (GroupedRun tried(problem, with_library(library));
            tried.status() == DEEPBENCH_UNSUPPORTED) {
          MESSAGE(library << ": " << problem << ": " << tried.error());
          CHECK(precision != "float");
          CHECK(tried.error().size() > 20);
          continue;
        }
        check_problem(library, problem);
      }
}

TEST_CASE("gpu: grouped_gemm: graphs and streams leave the same results in every copy") {
  REQUIRE_GPU();
  const std::string problem = "groups=8 rows=200 n=256 k=512 split=zipf precision=bfloat16";
  const GroupedGemm of = parse_grouped_gemm(problem);
  const NaiveGroupedGemm naive(of, kSeed);
  for (const std::string library : kLibraries) {
    CAPTURE(library);
    GroupedRun run(problem, with_library(library));
    REQUIRE(run.status() == DEEPBENCH_OK);
    for (const int32_t launch : {DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_LAUNCH_STREAM}) {
      run.poison();
      const deepbench_batch batch = run.call(5, launch);
      MESSAGE(library << ": asked for launch " << launch << ", got " << batch.launch);
      CHECK(naive.count_wrong(run.read(200 * 256)) == 0);
    }
    GroupedRun cold(problem, with_library(library, "cache=cold"));
    REQUIRE(cold.status() == DEEPBENCH_OK);
    cold.call(1);
    const std::vector<double> first = cold.project(256, 1);
    for (int copy = 0; copy < 3; ++copy) {
      cold.call(1);
      CHECK(cold.project(256, 1) == first);
    }
  }
}

TEST_CASE("gpu: grouped_gemm: a refill gives exact sums of integers") {
  REQUIRE_GPU();
  const std::string problem = "groups=5 rows=20 n=16 k=200 split=multinomial precision=half";
  const GroupedGemm of = parse_grouped_gemm(problem);
  for (const std::string library : kLibraries) {
    GroupedRun run(problem, with_library(library));
    REQUIRE(run.status() == DEEPBENCH_OK);
    REQUIRE(table().refill(run.handle(), "integers", 9) == DEEPBENCH_OK);
    run.poison();
    run.call(1);
    CHECK(NaiveGroupedGemm(of, 9, /*integers=*/true).count_wrong(run.read(320)) == 0);
  }
}

TEST_CASE("gpu: grouped_gemm: workspaces keep their limit, and kernels share the handle") {
  REQUIRE_GPU();
  for (const std::string library : kLibraries) {
    const std::string problem = "groups=4 rows=64 n=128 k=256 split=zipf precision=half";
    check_problem(library, problem, "workspace=0");
    GroupedRun first(problem, with_library(library)), second(problem, with_library(library));
    REQUIRE(first.status() == DEEPBENCH_OK);
    REQUIRE(second.status() == DEEPBENCH_OK);
    const NaiveGroupedGemm naive(parse_grouped_gemm(problem), kSeed);
    for (GroupedRun* run : {&first, &second, &first}) {
      run->poison();
      run->call(1);
      CHECK(naive.count_wrong(run->read(64 * 128)) == 0);
    }
  }
}

TEST_CASE("grouped_gemm: precisions of 8 bits are refused before a device is needed") {
  for (cuda::Implementation* library :
       {&cuda::cublas_grouped_gemm(), &cuda::cublaslt_loop_grouped_gemm()})
    for (const std::string precision : {"int8", "fp8_e4m3"}) {
      const ProblemRequest request(
          "grouped_gemm", "groups=4 rows=64 n=128 k=256 split=zipf precision=" + precision, "");
      const deepbench_problem raw = request.problem();
      CHECK_THROWS_WITH_AS(
          library->plan(plugin::Problem(raw), plugin::Options(request.named.get())),
          ("cuBLAS does not compute grouped_gemm in " + precision).c_str(), plugin::Error);
    }
}

}  // namespace
}  // namespace deepbench::cuda_test
