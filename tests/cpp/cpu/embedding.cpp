// Lookups by loops: every mode, phase, precision and distribution against plain loops.
#include "deepbench/ops/embedding/embedding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "../ops/naive_embedding.hpp"
#include "harness.hpp"
#include "ops/embedding/operands.hpp"

namespace deepbench::cpu_test {
namespace {

Embedding embedding_of(const std::string& text) { return embedding_problem(NamedValues(text)); }

void check_kernel(const std::string& text, const std::string& options) {
  CAPTURE(text);
  CAPTURE(options);
  const Embedding e = embedding_of(text);
  Kernel kernel("embedding", text, "seed=5 " + options);
  CHECK(kernel.describe().text("algorithm") == "loop");
  CHECK(kernel.describe().has("in_place") == e.is_backward);
  const auto outputs = uint64_t(e.outputs());
  kernel.poison();
  CHECK(kernel.scan().count == outputs);
  CHECK(kernel.scan().untouched == outputs);
  kernel.run(1);
  CHECK(kernel.scan().non_finite == 0);
  if (!e.is_backward) CHECK(kernel.scan().untouched == 0);
  const std::vector<double> got = kernel.read(outputs), expected = testing::naive_embedding(e, 5);
  const double roundoff = e.output_type() == DEEPBENCH_F32 ? 1e-6 : kRoundoffBfloat16;
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i)
    wrong += e.sums || e.is_backward
                 ? std::abs(got[i] - expected[i]) > roundoff * (4 + std::abs(expected[i]))
                 : got[i] != expected[i];
  CHECK(wrong == 0);
}

TEST_CASE("embedding: every mode, phase, precision and distribution") {
  for (const char* mode : {" mode=gather", " mode=sum"})
    for (const char* phase : {" phase=fwd", " phase=bwd"})
      for (const char* precision : {" precision=float", " precision=bfloat16"})
        for (const char* indices : {" indices=uniform", " indices=zipf"})
          for (const char* size :
               {"rows=1 dim=1 lookups=1 batch=1", "rows=37 dim=5 lookups=3 batch=11",
                "rows=100 dim=64 lookups=20 batch=7", "rows=5 dim=300 lookups=2 batch=3"})
            check_kernel(std::string(size) + mode + phase + precision + indices, "");
  check_kernel("rows=37 dim=5 lookups=3 batch=11 mode=gather phase=fwd indices=zipf precision=half",
               "");
}

TEST_CASE("embedding: rows that no lookup asks for are not filled where lookups are few") {
  for (const std::string sizes : {"lookups=3 batch=20", "lookups=30 batch=20"}) {
    CAPTURE(sizes);
    const Embedding e =
        embedding_of("rows=1000 dim=1024 mode=sum phase=fwd indices=zipf precision=float " + sizes);
    std::set<int64_t> asked_for;
    for (int64_t i = 0; i < e.all_lookups(); ++i) asked_for.insert(e.row_of(5, i));
    const cpu::EmbeddingOperands operands(e, {}, plugin::Inputs::kUniform, 5);
    const auto* const table = reinterpret_cast<const float*>(operands.table(0));
    const bool are_few = e.all_lookups() < 100;
    for (int64_t row = 0; row < e.rows; ++row) {
      const bool is_zero = std::all_of(table + e.dim * row, table + e.dim * (row + 1),
                                       [](float x) { return x == 0; });
      CHECK(is_zero == (are_few && asked_for.count(row) == 0));
    }
  }
}

TEST_CASE("embedding: cold operands and several threads") {
  for (const char* phase : {" phase=fwd", " phase=bwd"})
    for (const char* options : {"cache=cold", "threads=1", "threads=2"})
      check_kernel("rows=5000 dim=33 lookups=4 batch=100 mode=sum indices=uniform precision=float" +
                       std::string(phase),
                   options);
}

TEST_CASE("embedding: the gradient adds up over calls, and restore brings the table back") {
  const std::string text =
      "rows=20 dim=8 lookups=4 batch=10 mode=sum indices=zipf phase=bwd precision=float";
  Kernel kernel("embedding", text, "seed=5 inputs=ones");
  kernel.run(3);
  double sum = 0;
  for (const double value : kernel.read(160)) sum += value;
  CHECK(sum == 160 + 3 * 8 * 40);
  kernel.restore();
  CHECK(kernel.read(160) == std::vector<double>(160, 1.0));
}

TEST_CASE("embedding: refusals name the precision") {
  const std::string text = "rows=20 dim=8 lookups=4 batch=10 indices=zipf phase=fwd";
  // Which other precisions the processor has units for differs.
  const std::string error = plan_status("embedding", text + " mode=sum precision=half").error;
  CHECK(error.find("the built-in loop does not add up rows of half; ") == 0);
  CHECK(error.find("float work") != std::string::npos);
  CHECK(plan_status("embedding", text + " mode=gather precision=int8")
            .error.find("the built-in loop does not copy rows of int8") == 0);
}

}  // namespace
}  // namespace deepbench::cpu_test
