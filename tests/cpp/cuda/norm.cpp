// Normalization on a device: each kind, phase, precision and library is verified as rows are.
#include "deepbench/ops/norm/norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../paths.hpp"
#include "deepbench/run/session/runner.hpp"
#include "gpu.hpp"

namespace deepbench::cuda_test {
namespace {

Runner& runner() {
  static Runner instance(std::string(testing::stage_folder()) + "/libdeepbench_cuda.so",
                         "ceilings=no samples=5");
  return instance;
}

Row run(const std::string& problem, const std::string& options) {
  const Row row = runner().run("norm " + problem + " ; " + options, 0);
  INFO(problem, " ; ", options, ": ", row.reason, " ", row.verification.reason);
  CHECK(row.status == Status::kOk);
  CHECK(row.verification.state == Verification::State::kPassed);
  return row;
}

void check(const std::string& shape, const std::vector<std::string>& precisions,
           const std::string& options = "library=builtin") {
  for (const std::string phase : {"training", "inference", "bwd"})
    for (const std::string& precision : precisions)
      run(shape + " phase=" + phase + " precision=" + precision, options);
}

TEST_CASE("gpu: norm: the built-in kernels normalize rows of any length") {
  REQUIRE_GPU();
  for (const std::string columns : {"1", "255", "1024", "5120", "70000"})
    check("kind=layer rows=200 columns=" + columns, {"float", "half"});
  check("kind=rms rows=70 columns=4096", {"bfloat16"});
}

TEST_CASE("gpu: norm: the built-in kernels normalize parts of rows and columns") {
  REQUIRE_GPU();
  check("kind=group groups=32 rows=4 columns=40960", {"half"});
  check("kind=group groups=3 rows=70 columns=333", {"bfloat16"});
  check("kind=group groups=2 rows=2 columns=140000", {"float"});
  for (const std::string columns : {"3", "250", "2048"})
    check("kind=batch rows=3000 columns=" + columns, {"float", "bfloat16"});
}

TEST_CASE("gpu: norm: cold and constant operands are verified too") {
  REQUIRE_GPU();
  for (const std::string phase : {"training", "bwd"})
    for (const std::string options : {"cache=cold", "inputs=ones", "inputs=zeros"})
      run("kind=layer rows=300 columns=768 precision=half phase=" + phase,
          "library=builtin " + options);
}

TEST_CASE("gpu: norm: cuDNN's legacy API normalizes columns in each of its modes") {
  REQUIRE_GPU();
  for (const std::string mode : {"spatial", "spatial_persistent"})
    check("kind=batch rows=3000 columns=250", {"float", "half", "bfloat16"},
          "library=cudnn_legacy algorithm=" + mode);
}

// cuDNN compiles an engine for 1 to 2 s, so that these cases have few rows.
TEST_CASE("gpu: norm: cuDNN's engines normalize rows of any length") {
  REQUIRE_GPU();
  for (const std::string kind : {"kind=layer", "kind=rms"}) {
    check(kind + " rows=200 columns=333", {"half"}, "library=cudnn");
    check(kind + " rows=200 columns=1024", {"bfloat16"}, "library=cudnn");
    check(kind + " rows=200 columns=5120", {"float"}, "library=cudnn");
  }
}

TEST_CASE("gpu: norm: cuDNN's engines normalize columns") {
  REQUIRE_GPU();
  for (const std::string phase : {"training", "bwd"})
    for (const std::string precision : {"float", "half", "bfloat16"})
      run("kind=batch rows=3000 columns=256 phase=" + phase + " precision=" + precision,
          "library=cudnn");
}

// Creating cuDNN's handle and building an engine may take longer than a short row leaves to its
// search, so that the row is given time.
TEST_CASE("gpu: norm: cuDNN competes with the built-in kernels") {
  REQUIRE_GPU();
  const Row row = run("kind=layer rows=3000 columns=1024 phase=training precision=half",
                      "algorithm=best budget=60");
  CHECK(row.algorithm.default_candidate.rfind("builtin:", 0) == 0);
  const std::vector<TriedCandidate>& tried = row.algorithm.tried;
  const auto engine = std::find_if(tried.begin(), tried.end(), [](const TriedCandidate& one) {
    return one.id.rfind("cudnn:eng", 0) == 0 && one.screened_ns > 0;
  });
  CHECK(engine != tried.end());
}

void print_rate(const std::string& problem, const std::string& library) {
  const Row row = run(problem, "library=" + library);
  if (!row.has_rates()) return;
  const double bytes = norm_problem(Problem::parse("norm " + problem)).traffic();
  MESSAGE(problem << " by " << row.library << ": " << bytes / row.median_ns() << " GB/s");
}

// Prints rates, and asserts only that rows are verified.
TEST_CASE("gpu: norm: rates are printed") {
  REQUIRE_GPU();
  for (const std::string line : {"kind=batch rows=100352 columns=256 phase=training",
                                 "kind=batch rows=100352 columns=256 phase=inference",
                                 "kind=batch rows=100352 columns=256 phase=bwd",
                                 "kind=layer rows=16384 columns=1024 phase=training",
                                 "kind=layer rows=16384 columns=1024 phase=bwd",
                                 "kind=rms rows=8192 columns=4096 phase=inference",
                                 "kind=rms rows=8192 columns=4096 phase=bwd",
                                 "kind=group rows=16 columns=1310720 groups=32 phase=training"})
    for (const std::string precision : {" precision=half", " precision=float"}) {
      const bool is_batch = line.find("batch") != std::string::npos;
      const bool is_inference = line.find("inference") != std::string::npos;
      print_rate(line + precision, "builtin");
      if (is_batch) print_rate(line + precision, "cudnn_legacy");
      if (line.find("group") == std::string::npos && !(is_batch && is_inference))
        print_rate(line + precision, "cudnn");
    }
}

}  // namespace
}  // namespace deepbench::cuda_test
