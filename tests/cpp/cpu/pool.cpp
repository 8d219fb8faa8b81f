// Pooling and local response normalization through oneDNN: every kind, phase, precision and layout
// against plain loops.
#include "deepbench/ops/pool/pool.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_pool.hpp"
#include "deepbench/core/problem.hpp"
#include "harness.hpp"

namespace deepbench::cpu_test {
namespace {

// Runs the candidate, and compares all outputs within `units` roundoffs of the type: of the outputs
// themselves, and of terms of `size` that they are the sums of.
void check_outputs(const std::string& op, const std::string& text, const std::string& options,
                   const PrecisionInfo& precision, const std::vector<double>& expected,
                   double units, double size = 0) {
  CAPTURE(text);
  CAPTURE(options);
  Kernel kernel(op, text, "seed=5 " + options);
  CHECK(kernel.describe().text("library").find("onednn") == 0);
  kernel.poison();
  CHECK(kernel.scan().untouched == expected.size());
  kernel.run(1);
  CHECK(kernel.scan().count == expected.size());
  CHECK(kernel.scan().untouched == 0);
  const std::vector<double> got = kernel.read(expected.size());
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = units * (precision.output_roundoff * (std::abs(expected[i]) + size) +
                                  kRoundoffFloat + precision.absolute_roundoff());
    wrong += !(std::abs(got[i] - expected[i]) <= bound);
  }
  CHECK(wrong == 0);
}

bool is_supported(const std::string& op, const std::string& text) {
  const SupportResult answer = plan_status(op, text);
  if (answer.status == DEEPBENCH_OK) return true;
  CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
  CHECK(answer.error.size() > 10);
  return false;
}

constexpr const char* kPoolShapes[] = {
    "n=1 c=1 h=1 w=1 r=1 s=1 pad_h=0 pad_w=0 stride_h=1 stride_w=1",
    "n=2 c=17 h=9 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
    "n=2 c=8 h=7 w=7 r=7 s=7 pad_h=0 pad_w=0 stride_h=1 stride_w=1",
    "n=1 c=20 h=11 w=6 r=3 s=2 pad_h=2 pad_w=0 stride_h=3 stride_w=1",
};

// In fewer bits, several places of a window may hold the maximum.
bool has_ties(const Pool& pool) {
  return pool.is_backward && !pool.is_average && pool.type() != DEEPBENCH_F32;
}

TEST_CASE("pool: every kind, phase, precision and layout") {
  if (!is_installed("onednn")) return;
  for (const char* shape : kPoolShapes)
    for (const char* kind : {" kind=max", " kind=average"})
      for (const char* phase : {" phase=fwd", " phase=bwd"})
        for (const char* precision :
             {" precision=float", " precision=bfloat16", " precision=half", " precision=int8"}) {
          const std::string text = std::string(shape) + kind + phase + precision;
          const Pool pool = pool_problem(NamedValues(text));
          if (!is_supported("pool", text) || has_ties(pool)) continue;
          const bool is_exact = !pool.is_average && !pool.is_backward;
          for (const std::string& layout : candidates("pool", text))
            check_outputs("pool", text, "candidate=" + layout, pool.precision,
                          testing::NaivePool(pool, 5).output(), is_exact ? 0 : 10,
                          pool.is_backward ? 0.5 : 0);
        }
  CHECK_FALSE(is_supported("pool", std::string(kPoolShapes[0]) + " precision=int8"));
}

TEST_CASE("pool: cold operands, and several threads") {
  if (!is_installed("onednn")) return;
  for (const char* kind : {" kind=max", " kind=average"})
    for (const char* phase : {" phase=fwd", " phase=bwd"}) {
      const std::string text = std::string(kPoolShapes[1]) + kind + phase + " precision=float";
      const Pool pool = pool_problem(NamedValues(text));
      for (const char* options : {"cache=cold", "threads=1", "threads=2"})
        check_outputs("pool", text, options, pool.precision, testing::NaivePool(pool, 5).output(),
                      10);
    }
}

TEST_CASE("lrn: every precision, layout and size") {
  if (!is_installed("onednn")) return;
  for (const char* shape : {"n=1 c=1 h=1 w=1 size=5", "n=2 c=19 h=5 w=3 size=5",
                            "n=1 c=32 h=4 w=4 size=1", "n=2 c=16 h=3 w=7 size=9"})
    for (const char* precision :
         {" precision=float", " precision=bfloat16", " precision=half", " precision=int8"}) {
      const std::string text = std::string(shape) + precision;
      const Lrn lrn = lrn_problem(NamedValues(text));
      if (!is_supported("lrn", text)) continue;
      for (const std::string& layout : candidates("lrn", text))
        check_outputs("lrn", text, "candidate=" + layout, lrn.precision, testing::naive_lrn(lrn, 5),
                      4);
    }
  CHECK_FALSE(is_supported("lrn", "n=1 c=1 h=1 w=1 size=5 precision=int8"));
}

}  // namespace
}  // namespace deepbench::cpu_test
