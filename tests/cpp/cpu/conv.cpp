// Convolutions through oneDNN: each phase, precision, layout and candidate against plain loops,
// with odd shapes, poison in the library's layouts, cold regimes, and refusals with their reasons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "../ops/conv_text.hpp"
#include "../ops/naive_conv.hpp"
#include "harness.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

using testing::conv_of;
using testing::conv_text;
using testing::NaiveConv;

constexpr const char* kConvPhases[] = {"fwd", "bwd_data", "bwd_filter"};
constexpr const char* kConvLayouts[] = {"library", "nchw", "nhwc"};
constexpr const char* kConvPrecisions[] = {
    "float",          "bfloat16",       "half", "int8",
    "int8 x_type=u8", "int8 y_type=s8", "tf32", "int8 x_type=u8 y_type=s8",
    "fp8_e4m3"};

size_t count_wrong(const Conv& conv, const Emitted& facts, const std::vector<double>& got) {
  const NaiveConv naive(conv, 5, facts.text("fill.w") == "s7" ? DEEPBENCH_S7 : conv.precision.b);
  const std::vector<double> values = naive.output(), squares = naive.output(true);
  const bool is_winograd = facts.text("accumulator") == "winograd";
  CHECK(facts.has("transform_factor") == is_winograd);
  const double widening = is_winograd ? 32 : 1;
  const double roundoff =
      4 * std::sqrt(double(conv.products_per_output())) * conv.precision.sum_roundoff * widening;
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double bound = roundoff * std::sqrt(squares[i] + values[i] * values[i]) +
                         conv.precision.output_roundoff * std::abs(values[i]) +
                         conv.precision.absolute_roundoff();
    const double value = conv.saturates() ? testing::saturated(conv, values[i]) : values[i];
    wrong += !(std::abs(got[i] - value) <= 1.01 * bound);
  }
  return wrong;
}

// The projection of an output that was read element by element.
std::vector<double> projection_of(const std::vector<double>& output, uint64_t rows, uint64_t seed) {
  std::vector<double> sums(rows);
  for (uint64_t i = 0; i < output.size(); ++i)
    sums[i % rows] += output[i] * deepbench_weight(seed, i / rows);
  return sums;
}

void check_kernel(const std::string& problem, const std::string& options) {
  CAPTURE(problem);
  CAPTURE(options);
  const Conv conv = conv_of(problem);
  const auto outputs = uint64_t(conv.output().size()), rows = uint64_t(conv.output().rows());
  Kernel kernel("conv", problem, "library=onednn seed=5 " + options);
  const Emitted facts = kernel.describe();
  CHECK(facts.text("library").find("onednn") == 0);
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK_FALSE(facts.has("in_place"));
  if (facts.has("converted")) {
    CHECK(facts.text("converted") == "w");
    CHECK(facts.number("conversion_ns") > 0);
    CHECK(facts.number("conversion_sample_ns.0") > 0);
  }

  kernel.poison();  // Poison must survive the reorder to verification's order.
  CHECK(kernel.scan().count == outputs);
  CHECK(kernel.scan().untouched == outputs);
  CHECK(kernel.scan().non_finite == 0);
  CHECK(kernel.run(1).copies_touched == 1);
  const deepbench_scan scan = kernel.scan();
  CHECK(scan.count == outputs);
  // -127 is also a possible result.
  CHECK(scan.untouched <= (conv.saturates() ? outputs / 20 : 0));
  CHECK(scan.non_finite == 0);
  const std::vector<double> got = kernel.read(outputs);
  CHECK(count_wrong(conv, facts, got) == 0);
  const std::vector<double> sums = kernel.project(rows, 7), expected = projection_of(got, rows, 7);
  for (size_t i = 0; i < sums.size(); ++i)
    CHECK(sums[i] == doctest::Approx(expected[i]).epsilon(1e-9));
}

void check_every_candidate(const std::string& problem) {
  CAPTURE(problem);
  const SupportResult answer = plan_status("conv", problem, "library=onednn");
  if (answer.status != DEEPBENCH_OK) {
    CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
    CHECK(answer.error.size() > 10);
    return;
  }
  const std::vector<std::string> ids = candidates("conv", problem, "library=onednn");
  REQUIRE_FALSE(ids.empty());
  for (const std::string& id : ids) check_kernel(problem, "candidate=" + id);
}

TEST_CASE("conv: every phase, precision, layout and candidate") {
  if (!is_installed("onednn")) return;
  for (const char* phase : kConvPhases)
    for (const char* precision : kConvPrecisions)
      for (const char* layout : kConvLayouts)
        check_every_candidate(
            conv_text("w=9 h=8 c=20 n=2 k=17 s=3 r=3 pad_w=1 pad_h=1", phase, precision, layout));
}

constexpr const char* kConvShapes[] = {
    "w=1 h=1 c=1 n=1 k=1 s=1 r=1",
    "w=14 h=14 c=32 n=3 k=24 s=1 r=1",
    "w=20 h=11 c=1 n=4 k=8 s=6 r=5 stride_w=2 stride_h=2",
    "w=13 h=12 c=3 n=2 k=16 s=3 r=3 dilation_w=2 dilation_h=3 pad_w=2 pad_h=1",
    "w=15 h=9 c=4 n=5 k=2 s=3 r=2 stride_w=3 pad_w=2",
    "w=9 h=7 c=16 n=2 k=32 s=3 r=3 groups=2 pad_w=1",
    "w=8 h=8 c=19 n=3 k=19 s=3 r=3 groups=19 pad_w=1 pad_h=1",
    "w=8 h=6 c=8 n=2 k=16 s=3 r=2 d=5 t=3 pad_d=1 pad_h=1",
    "w=6 h=5 c=4 n=2 k=8 s=3 r=2 d=7 t=2 stride_d=2 dilation_d=3 pad_w=1 groups=2",
    "w=5 h=5 c=8 n=1 k=8 s=5 r=5",
    "w=8 h=8 c=16 n=1 k=3 s=2 r=2 stride_w=2 stride_h=2",
};

TEST_CASE("conv: odd shapes in every phase") {
  if (!is_installed("onednn")) return;
  for (const char* shape : kConvShapes)
    for (const char* phase : kConvPhases)
      for (const char* layout : kConvLayouts)
        check_every_candidate(conv_text(shape, phase, "float", layout));
  for (const char* shape : kConvShapes)
    for (const char* y_type : {"s32", "s8"})
      check_every_candidate(
          conv_text(shape, "fwd", std::string("int8 x_type=u8 y_type=") + y_type));
}

TEST_CASE("conv: candidates differ and begin with the problem's layout") {
  if (!is_installed("onednn")) return;
  const std::string shape = "w=14 h=14 c=32 n=2 k=32 s=3 r=3 pad_w=1 pad_h=1";
  for (const char* layout : kConvLayouts) {
    const auto ids = candidates("conv", conv_text(shape, "fwd", "float", layout));
    REQUIRE_FALSE(ids.empty());
    CHECK(ids.front() == layout);
    std::vector<std::string> sorted = ids;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    for (const std::string& id : ids)
      if (layout != std::string("library") && id != "wino") CHECK(id.find(layout) == 0);
  }
}

TEST_CASE("conv: the row reports operands that are stored in another layout") {
  if (!is_installed("onednn")) return;
  const std::string shape = "w=14 h=14 c=32 n=2 k=32 s=3 r=3 pad_w=1 pad_h=1";
  const auto facts = [&](const char* phase, const char* layout) {
    return Kernel("conv", conv_text(shape, phase, "float", layout)).describe();
  };
  CHECK_FALSE(facts("fwd", "nchw").has("metric.reorder"));
  CHECK(facts("fwd", "library").has("metric.reorder"));
  CHECK_FALSE(facts("fwd", "nhwc").text("converted").empty());
  CHECK_FALSE(facts("bwd_filter", "nchw").has("converted"));
  const Emitted int8 = Kernel("conv", conv_text(shape, "fwd", "int8 x_type=u8")).describe();
  CHECK(int8.text("accumulator") == "float");
  CHECK(int8.has("fill.w") == int8.has("note.inputs"));
}

TEST_CASE("conv: every reading converts the output, whether a call was made or not") {
  if (!is_installed("onednn")) return;
  const std::string problem =
      conv_text("w=128 h=128 c=256 n=1 k=3 s=1 r=1", "bwd_data", "float", "library");
  Kernel kernel("conv", problem, "library=onednn");
  if (!kernel.describe().has("metric.reorder")) {
    MESSAGE("the output has the problem's layout here: nothing is converted");
    return;
  }
  // The processor's time, which other programs do not change.
  const auto reading = [&kernel] {
    const std::clock_t began = std::clock();
    const uint64_t first = 0;
    double value = 0;
    REQUIRE(backend().read_output(kernel.handle(), 0, &first, 1, &value) == DEEPBENCH_OK);
    return double(std::clock() - began);
  };
  kernel.poison();
  reading();
  const double poisoned = reading();
  kernel.run(1);
  CHECK(reading() < 20 * poisoned);
}

TEST_CASE("conv: oneDNN's reference implementation has a note, and is refused for large problems") {
  if (!is_installed("onednn")) return;
  const std::string small = "w=8 h=8 c=4 n=1 k=4 s=3 r=3";
  const Emitted facts = Kernel("conv", conv_text(small, "fwd", "int8", "nchw")).describe();
  REQUIRE(facts.text("algorithm").find("ref:any") != std::string::npos);
  CHECK(facts.text("note.reference").find("only its reference implementation") !=
        std::string::npos);
  CHECK_FALSE(Kernel("conv", conv_text(small, "fwd", "float")).describe().has("note.reference"));
  // 2 * 28^2 * 9 * 64 * 128 = 0.12 * 10^9 operations.
  const std::string large_shape = "w=28 h=28 c=64 n=1 k=128 s=3 r=3 pad_w=1 pad_h=1";
  const SupportResult large = plan_status("conv", conv_text(large_shape, "fwd", "int8", "nchw"));
  CHECK(large.status == DEEPBENCH_UNSUPPORTED);
  CHECK(large.error.find("one call would take seconds or longer") != std::string::npos);
}

TEST_CASE("conv: a refusal contains oneDNN's reason") {
  if (!is_installed("onednn")) return;
  const std::string shape = "w=14 h=14 c=32 n=2 k=32 s=3 r=3";
  const auto reason = [&](const char* phase, const char* precision) {
    return plan_status("conv", conv_text(shape, phase, precision)).error;
  };
  CHECK(reason("fwd", "tf32").find("tf32") != std::string::npos);
  CHECK(reason("fwd", "fp8_e4m3").find("8-bit floating-point") != std::string::npos);
  CHECK(reason("bwd_data", "int8").find("no gradients of 8-bit") != std::string::npos);
  CHECK(reason("bwd_filter", "int8 x_type=u8").find("no gradients of 8-bit") != std::string::npos);
  const std::string half = reason("fwd", "half");
  CHECK((half.empty() || half.find("unimplemented") != std::string::npos));
  const std::string s8 = reason("fwd", "int8");
  CHECK((s8.empty() || s8.find("x_type=u8 is exact") != std::string::npos));
}

TEST_CASE("conv cold: calls use every copy, and each gives the same result") {
  if (!is_installed("onednn")) return;
  for (const char* phase : kConvPhases) {
    const std::string problem = conv_text("w=56 h=56 c=64 n=2 k=64 s=3 r=3 pad_w=1", phase);
    Kernel kernel("conv", problem, "library=onednn seed=5 cache=cold");
    const Emitted facts = kernel.describe();
    if (facts.text("cold") != "rotation") continue;  // The cache is too large for 1024 copies.
    const auto copies = uint64_t(facts.number("copies"));
    const Conv conv = conv_of(problem);
    const auto bytes = uint64_t(4 * (conv.x_size() + conv.w_size() + conv.y_size()));
    CHECK(copies * bytes >= 3 * uint64_t(cpu::topology().last_level_bytes));
    CHECK(memory_needed("conv", problem, "library=onednn cache=cold") >= copies * bytes);
    kernel.poison();
    const auto rows = uint64_t(conv.output().rows());
    CHECK(kernel.run(1).copies_touched == 1);
    const std::vector<double> first = kernel.project(rows, 1);
    CHECK(std::none_of(first.begin(), first.end(), [](double sum) { return std::isnan(sum); }));
    for (uint64_t copy = 1; copy < copies; ++copy) {
      kernel.run(1);
      CHECK(kernel.project(rows, 1) == first);
    }
    CHECK(kernel.run(copies + 3).copies_touched == copies);
  }
}

TEST_CASE("conv cold: if copies do not suffice, the caches are flushed before each isolated call") {
  if (!is_installed("onednn")) return;
  const std::string problem = conv_text("w=9 h=8 c=8 n=2 k=8 s=3 r=3");
  Kernel kernel("conv", problem, "library=onednn seed=5 cache=cold copies=4");
  const Emitted facts = kernel.describe();
  CHECK(facts.text("cold") == "flush");
  kernel.poison();
  CHECK(kernel.run(2).launch == DEEPBENCH_LAUNCH_ISOLATED);
  const Conv conv = conv_of(problem);
  CHECK(count_wrong(conv, facts, kernel.read(uint64_t(conv.output().size()))) == 0);
}

TEST_CASE("conv: unknown candidates are invalid, and huge problems run out of memory") {
  if (!is_installed("onednn")) return;
  const std::string problem = conv_text("w=9 h=8 c=8 n=2 k=8 s=3 r=3");
  for (const std::string id : {"nosuch", "library:", "library:0", "library:x", "library:77",
                               "nhwc:-1", "library:100", "wino:1", "nchw:1x", ":1"}) {
    CAPTURE(id);
    const SupportResult answer = plan_status("conv", problem, "candidate=" + id);
    CHECK(answer.status == DEEPBENCH_INVALID);
    CHECK(answer.error.find("has no candidate") != std::string::npos);
  }
  CHECK(plan_status("conv", conv_text("w=9 h=8 c=8 n=2 k=8 s=3 r=3", "fwd", "float", "nchw"),
                    "candidate=nhwc")
            .status == DEEPBENCH_INVALID);
  CHECK(plan_status("conv", problem, "library=openblas").status == DEEPBENCH_UNSUPPORTED);
  CHECK(prepare_status("conv", conv_text("w=100000 h=100000 c=64 n=64 k=64 s=3 r=3")) !=
        DEEPBENCH_OK);
  Kernel kernel("conv", problem);
  const uint64_t beyond = 2 * 8 * 7 * 6;
  double value = 0;
  CHECK(backend().read_output(kernel.handle(), 0, &beyond, 1, &value) == DEEPBENCH_INVALID);
}

}  // namespace
}  // namespace deepbench::cpu_test
