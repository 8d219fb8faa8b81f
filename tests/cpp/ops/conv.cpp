// conv: output sizes and useful work.
#include "deepbench/ops/conv/conv.hpp"

#include <doctest/doctest.h>

#include "../suite_totals.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;
using testing::Totals;

TEST_CASE("conv: the sets' totals, the same for every phase") {
  for (const std::string phase : {"fwd", "bwd_data", "bwd_filter"}) {
    const Totals training = suite_totals("training", "conv", "phase=" + phase);
    CHECK(training.problems == 94);
    CHECK(training.work.flops == 562504360960.0);
    CHECK(training.work.bytes == 3411953792.0);
  }
  CHECK(suite_totals("training", "conv", "precision=half").work.bytes == 1705976896.0);
  const Totals server = suite_totals("inference_server", "conv");
  CHECK(server.problems == 107);
  CHECK(server.work.flops == 86883119872.0);
  CHECK(server.work.bytes == 691358048.0);
  const Totals device = suite_totals("inference_device", "conv");
  CHECK(device.problems == 16);
  CHECK(device.work.flops == 1823997952.0);
  CHECK(device.work.bytes == 67495936.0);
}

Conv typed(const std::string& line) { return conv_problem(Problem::parse("conv " + line)); }

TEST_CASE("conv: the size of the output") {
  const Conv first = typed("w=700 h=161 c=1 n=4 k=32 s=20 r=5 stride_w=2 stride_h=2");
  CHECK(first.q() == 341);
  CHECK(first.p() == 79);
  CHECK(typed("w=7 h=7 c=1 n=1 k=1 s=3 r=3 pad_w=1 pad_h=1").p() == 7);
  CHECK(typed("w=7 h=7 c=1 n=1 k=1 s=3 r=3 dilation_h=3").p() == 1);
  CHECK(typed("w=8 h=8 c=1 n=1 k=1 s=3 r=3 stride_w=2").q() == 3);  // rounded down
  CHECK(typed("w=3 h=3 c=1 n=1 k=1 s=3 r=3").q() == 1);
  CHECK(Conv::extent(2, 3, 0, 1, 1) == 0);
}

TEST_CASE("conv: groups divide the work") {
  const Conv whole = typed("w=9 h=9 c=4 n=2 k=8 s=3 r=3");
  CHECK(whole.flops() == 2.0 * 2 * 8 * 4 * 3 * 3 * 7 * 7);
  CHECK(typed("w=9 h=9 c=4 n=2 k=8 s=3 r=3 groups=4").flops() == whole.flops() / 4);
}

}  // namespace
}  // namespace deepbench
