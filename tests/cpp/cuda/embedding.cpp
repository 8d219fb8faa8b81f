// Lookups on a device by built-in kernels, against plain loops.
#include "deepbench/ops/embedding/embedding.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_embedding.hpp"
#include "gpu.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {
namespace {

void check_lookups(const std::string& text, const std::string& options) {
  CAPTURE(text);
  CAPTURE(options);
  const Embedding e = embedding_problem(NamedValues(text));
  KernelRun run("embedding", text, options);
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  CHECK(run.describe().text("library").find("builtin") == 0);
  const auto outputs = uint64_t(e.outputs());
  run.poison();
  CHECK(run.scan().untouched == outputs);
  run.call(1);
  const std::vector<double> got = run.read(outputs), expected = testing::naive_embedding(e, kSeed);
  const double roundoff = e.output_type() == DEEPBENCH_F32   ? 1e-5
                          : e.output_type() == DEEPBENCH_F16 ? kRoundoffHalf
                                                             : kRoundoffBfloat16;
  const bool is_copy = !e.is_backward && e.lookups_per_row() == 1;
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    wrong +=
        !(std::abs(got[i] - expected[i]) <= (is_copy ? 0 : roundoff * (1 + std::abs(expected[i]))));
  CHECK(wrong == 0);
  if (!e.is_backward) CHECK(run.scan().untouched == 0);
}

TEST_CASE("gpu: lookups of every mode, phase, precision and distribution") {
  REQUIRE_GPU();
  for (const char* mode : {" mode=gather", " mode=sum"})
    for (const char* phase : {" phase=fwd", " phase=bwd"})
      for (const char* precision : {" precision=float", " precision=half", " precision=bfloat16"})
        for (const char* size : {"rows=1 dim=1 lookups=1 batch=1 indices=uniform",
                                 "rows=37 dim=5 lookups=3 batch=11 indices=zipf",
                                 "rows=1000 dim=64 lookups=20 batch=70 indices=uniform",
                                 "rows=50 dim=3000 lookups=9 batch=30 indices=zipf"})
          check_lookups(std::string(size) + mode + phase + precision, "");
}

TEST_CASE("gpu: lookups with cold operands, and a gradient that adds up over calls") {
  REQUIRE_GPU();
  for (const char* phase : {" phase=fwd", " phase=bwd"})
    check_lookups("rows=5000 dim=32 lookups=4 batch=100 mode=sum indices=uniform precision=float" +
                      std::string(phase),
                  "cache=cold");
  KernelRun run("embedding",
                "rows=20 dim=8 lookups=4 batch=10 mode=sum indices=zipf phase=bwd precision=half",
                "inputs=ones");
  run.restore();
  run.call(3);
  double sum = 0;
  for (const double value : run.read(160)) sum += value;
  CHECK(sum == 160 + 3 * 8 * 40);
  run.restore();
  CHECK(run.read(160) == std::vector<double>(160, 1.0));
}

}  // namespace
}  // namespace deepbench::cuda_test
