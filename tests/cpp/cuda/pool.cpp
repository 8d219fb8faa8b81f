// Pooling and local response normalization on a device through cuDNN, against plain loops.
#include "deepbench/ops/pool/pool.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_pool.hpp"
#include "gpu.hpp"
#include "image_layout.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {
namespace {

// Runs the candidate, and compares all outputs within `units` roundoffs of the type: of the outputs
// themselves, and of terms of `size` that they are the sums of.
void check_outputs(const std::string& op, const std::string& text, const std::string& options,
                   const PrecisionInfo& precision, const std::vector<double>& expected,
                   double units, double size = 0) {
  CAPTURE(text);
  CAPTURE(options);
  KernelRun run(op, text, "library=cudnn_legacy " + options);
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  run.poison();
  CHECK(run.scan().untouched == expected.size());
  run.call(1);
  CHECK(run.scan().untouched == 0);
  const std::vector<double> got = run.read(expected.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = precision.output_roundoff * (std::abs(expected[i]) + size) +
                         kRoundoffFloat + precision.absolute_roundoff();
    worst = std::max(worst, std::abs(got[i] - expected[i]) / bound);
    if (std::isnan(got[i])) worst = std::numeric_limits<double>::infinity();
  }
  CHECK(worst <= units);
}

TEST_CASE("gpu: pooling of every kind, phase, precision and layout") {
  REQUIRE_GPU();
  for (const char* shape : {"n=1 c=1 h=1 w=1 r=1 s=1 pad_h=0 pad_w=0 stride_h=1 stride_w=1",
                            "n=2 c=17 h=9 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
                            "n=2 c=8 h=7 w=7 r=7 s=7 pad_h=0 pad_w=0 stride_h=1 stride_w=1",
                            "n=1 c=20 h=11 w=6 r=3 s=2 pad_h=2 pad_w=0 stride_h=3 stride_w=1"})
    for (const char* kind : {" kind=max", " kind=average"})
      for (const char* phase : {" phase=fwd", " phase=bwd"})
        for (const char* precision : {" precision=float", " precision=half", " precision=bfloat16"})
          for (const char* options : {"candidate=nchw", "candidate=nhwc", "cache=cold"}) {
            const std::string text = std::string(shape) + kind + phase + precision;
            const Pool pool = pool_problem(NamedValues(text));
            // In fewer bits, several places of a window may hold the maximum.
            if (pool.is_backward && !pool.is_average && pool.type() != DEEPBENCH_F32) continue;
            const bool is_exact = !pool.is_average && !pool.is_backward;
            check_outputs("pool", text, options, pool.precision,
                          testing::NaivePool(pool, kSeed).output(), is_exact ? 0 : 10,
                          pool.is_backward ? 0.5 : 0);
          }
}

TEST_CASE("gpu: normalization of every precision and size") {
  REQUIRE_GPU();
  for (const char* shape :
       {"n=1 c=1 h=1 w=1 size=5", "n=2 c=19 h=5 w=3 size=5", "n=2 c=16 h=3 w=7 size=9"})
    for (const char* precision : {" precision=float", " precision=half"}) {
      const std::string text = std::string(shape) + precision;
      const Lrn lrn = lrn_problem(NamedValues(text));
      check_outputs("lrn", text, "", lrn.precision, testing::naive_lrn(lrn, kSeed), 4);
    }
  const ProblemRequest narrow("lrn", "n=1 c=1 h=1 w=1 size=5 precision=bfloat16", "");
  CHECK(narrow.plan_status() == DEEPBENCH_UNSUPPORTED);
  CHECK(narrow.plan_error().find("cuDNN does not support lrn in bfloat16") == 0);
}

TEST_CASE("images: the view of channels last has the problem's order") {
  cuda::ImageLayout images;
  images.sizes = {2, 3, 4, 5};
  images.channels_last = true;
  const cuda::Matrix view = images.view(nullptr);
  CHECK(images.elements() == 120);
  CHECK(view.elements() == 120);
  CHECK(view.rows == 20);
  CHECK(view.columns == 3);
  CHECK(view.planes == 2);
  CHECK(view.row_stride == 3);
  CHECK(view.column_stride == 1);
  CHECK(view.plane_stride == 60);
}

}  // namespace
}  // namespace deepbench::cuda_test
