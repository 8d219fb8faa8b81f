// Convolutions on the device through both of cuDNN's APIs. Every phase, precision, layout and
// candidate is compared with plain loops; further tests cover odd shapes, cold copies and refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "../ops/conv_text.hpp"
#include "../ops/naive_conv.hpp"
#include "device.hpp"
#include "gpu.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {
namespace {

using testing::conv_of;
using testing::conv_text;

constexpr const char* kPhases[] = {"fwd", "bwd_data", "bwd_filter"};
constexpr const char* kConvLibraries[] = {"cudnn", "cudnn_legacy"};

// Applies the reference's error bound, adjusted to the accumulator that the kernel describes.
size_t count_wrong(const Conv& conv, const Emitted& facts, const std::vector<double>& got) {
  const testing::NaiveConv naive(conv, kSeed);
  const std::vector<double> values = naive.output(), squares = naive.output(true);
  const std::string accumulator = facts.text("accumulator");
  const PrecisionInfo& precision = conv.precision;
  const double terms = double(conv.products_per_output());
  const double sums =
      4 * std::sqrt(terms) * precision.sum_roundoff * (accumulator == "winograd" ? 32 : 1);
  const double inputs = 4 * (accumulator == "fp22" ? std::sqrt(std::min(terms, 128.0)) / (1 << 13)
                                                   : precision.input_roundoff);
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double bound =
        sums * std::sqrt(squares[i] + values[i] * values[i]) + inputs * std::sqrt(squares[i]) +
        2 * precision.input_roundoff * std::abs(values[i]) +
        precision.output_roundoff * std::abs(values[i]) + precision.absolute_roundoff();
    const double value = conv.saturates() ? testing::saturated(conv, values[i]) : values[i];
    wrong += !(std::abs(got[i] - value) <= 1.01 * bound);
  }
  return wrong;
}

// Calls the kernel once from poisoned outputs and compares all outputs.
void check_conv(KernelRun& run, const std::string& problem) {
  const Conv conv = conv_of(problem);
  const auto outputs = uint64_t(conv.output().size()), rows = uint64_t(conv.output().rows());
  const Emitted facts = run.describe();
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK(facts.number("workspace_bytes") >= 0);
  CHECK(facts.number("planning_ns") > 0);
  CHECK_FALSE(facts.has("in_place"));
  run.poison();
  CHECK(run.scan().count == outputs);
  CHECK(run.scan().untouched == outputs);
  CHECK(run.call(1).elapsed_ns > 0);
  const deepbench_scan scan = run.scan();
  CHECK(scan.untouched <= (conv.saturates() ? outputs / 20 : 0));  // -127 is also a valid output
  CHECK(scan.non_finite == 0);
  const std::vector<double> got = run.read(outputs);
  CHECK(count_wrong(conv, facts, got) == 0);
  std::vector<double> expected(rows);
  for (uint64_t i = 0; i < outputs; ++i)
    expected[i % rows] += got[i] * deepbench_weight(7, i / rows);
  const std::vector<double> sums = run.project(rows, 7);
  size_t wrong = 0;
  for (size_t i = 0; i < rows; ++i)
    wrong += !(std::abs(sums[i] - expected[i]) <= 1e-9 * (1 + std::abs(expected[i])));
  CHECK(wrong == 0);
}

// Returns whether the problem ran. A refusal must have a reason.
bool check_problem(const std::string& problem, const std::string& options) {
  CAPTURE(problem);
  CAPTURE(options);
  KernelRun run("conv", problem, options);
  if (run.status() == DEEPBENCH_UNSUPPORTED) {
    CHECK(run.error().size() > 10);
    return false;
  }
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  check_conv(run, problem);
  return true;
}

TEST_CASE("gpu: conv: every phase, precision and layout of each library is correct") {
  REQUIRE_GPU();
  const std::string shape = "w=9 h=8 c=20 n=3 k=17 s=3 r=3 pad_w=1 pad_h=1";
  for (const std::string library : kConvLibraries)
    for (const char* phase : kPhases)
      for (const char* precision : {"float", "tf32", "half", "bfloat16"})
        for (const char* layout : {"library", "nchw", "nhwc"}) {
          const bool ran =
              check_problem(conv_text(shape, phase, precision, layout), "library=" + library);
          CHECK((ran || library == "cudnn_legacy"));
        }
  for (const std::string library : kConvLibraries)
    for (const char* precision : {"int8", "int8 y_type=s8"})
      CHECK(check_problem(conv_text(shape, "fwd", precision), "library=" + library));
  CHECK(check_problem(conv_text(shape, "fwd", "fp8_e4m3"), "library=cudnn"));
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
    "w=5 h=5 c=8 n=1 k=8 s=5 r=5",
};

TEST_CASE("gpu: conv: odd shapes are correct in every phase, padded or not") {
  REQUIRE_GPU();
  for (const char* shape : kConvShapes)
    for (const char* phase : kPhases)
      for (const char* precision : {"float", "half"})
        for (const char* pad : {"1", "0"})
          CHECK(check_problem(conv_text(shape, phase, precision),
                              std::string("library=cudnn pad=") + pad));
}

TEST_CASE("gpu: conv: every candidate gives the result") {
  REQUIRE_GPU();
  for (const std::string library : kConvLibraries)
    for (const char* phase : kPhases)
      for (const char* precision : {"float", "half"}) {
        const std::string problem =
            conv_text("w=12 h=10 c=16 n=4 k=24 s=3 r=3 pad_w=1 pad_h=1", phase, precision);
        const auto ids =
            ProblemRequest("conv", problem, "library=" + library + " limit=24").candidates();
        REQUIRE_FALSE(ids.empty());
        CHECK(ids.size() <= 24);
        CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
        KernelRun unnamed("conv", problem, "library=" + library);
        CHECK(unnamed.describe().text("algorithm").find(ids[0].substr(0, ids[0].find(':'))) == 0);
        for (const std::string& id : ids)
          CHECK(check_problem(problem, "library=" + library + " candidate=" + id));
      }
}

bool has_layout(const std::string& id, const std::string& layout) {
  return id.find(layout + ":") == 0;
}

size_t count_of_layout(const std::vector<std::string>& ids, const std::string& layout) {
  return size_t(std::count_if(ids.begin(), ids.end(),
                              [&](const std::string& id) { return has_layout(id, layout); }));
}

// The first candidate of the layout.
std::string id_of_layout(const std::vector<std::string>& ids, const std::string& layout) {
  return *std::find_if(ids.begin(), ids.end(),
                       [&](const std::string& id) { return has_layout(id, layout); });
}

TEST_CASE("gpu: conv: channels that are not padded are candidates in 16 bits") {
  REQUIRE_GPU();
  for (const std::string precision : {"half", "bfloat16"}) {
    const std::string problem =
        conv_text("w=24 h=24 c=3 n=4 k=16 s=7 r=7 stride_w=2 stride_h=2", "fwd", precision);
    const auto ids = ProblemRequest("conv", problem, "library=cudnn limit=48").candidates();
    CHECK(count_of_layout(ids, "nhwc") > 0);
    REQUIRE(count_of_layout(ids, "nhwc1") > 0);
    for (const std::string& id : ids)
      CHECK(check_problem(problem, "library=cudnn candidate=" + id));
    KernelRun unpadded("conv", problem, "library=cudnn candidate=" + id_of_layout(ids, "nhwc1"));
    CHECK_FALSE(unpadded.describe().has("padded.c"));
  }
}

// Most engines for int8 compile at run time, which several threads do in advance.
TEST_CASE("gpu: conv: every int8 candidate gives the result in any order") {
  REQUIRE_GPU();
  for (const std::string layout : {"library", "nchw"}) {
    const std::string problem =
        conv_text("w=9 h=11 c=32 n=2 k=40 s=3 r=3 pad_w=1 pad_h=1", "fwd", "int8", layout);
    const auto ids = ProblemRequest("conv", problem, "library=cudnn limit=32").candidates();
    CHECK(ids.size() > 1);
    CHECK(ids == ProblemRequest("conv", problem, "library=cudnn limit=32").candidates());
    for (auto id = ids.rbegin(); id != ids.rend(); ++id)
      CHECK(check_problem(problem, "library=cudnn candidate=" + *id));
  }
}

TEST_CASE("gpu: conv: only exhaustive tries compiled engines for the other channel order") {
  REQUIRE_GPU();
  const std::string problem =
      conv_text("w=9 h=11 c=32 n=2 k=40 s=3 r=3 pad_w=1 pad_h=1", "fwd", "int8");
  const auto few = ProblemRequest("conv", problem, "library=cudnn limit=400").candidates();
  const auto all = ProblemRequest("conv", problem, "library=cudnn").candidates();
  CHECK(count_of_layout(few, "nchw") < count_of_layout(all, "nchw"));
  CHECK(count_of_layout(few, "nhwc") > count_of_layout(few, "nchw"));
}

TEST_CASE("gpu: conv: no float candidate rounds to TF32") {
  REQUIRE_GPU();
  // If an engine rounded the 24-bit inputs to TF32, errors would exceed the bound a hundred times.
  for (const std::string layout : {"library", "nhwc"}) {
    const std::string problem =
        conv_text("w=16 h=16 c=64 n=4 k=64 s=1 r=1", "fwd", "float", layout);
    for (const std::string& id :
         ProblemRequest("conv", problem, "library=cudnn limit=400").candidates())
      CHECK(check_problem(problem, "library=cudnn candidate=" + id));
  }
}

TEST_CASE("gpu: conv: padding is described, and pad=0 turns it off") {
  REQUIRE_GPU();
  const std::string problem = conv_text("w=9 h=8 c=3 n=2 k=17 s=3 r=3", "fwd", "half");
  KernelRun padded("conv", problem, ""), plain("conv", problem, "pad=0");
  CHECK(padded.describe().number("padded.c") == 8);
  CHECK(padded.describe().number("padded.k") == 24);
  CHECK(padded.describe().text("padding_rule").find("multiples of 8") != std::string::npos);
  CHECK_FALSE(plain.describe().has("padded.c"));
  CHECK(padded.describe().text("algorithm").find("nhwc: eng") == 0);
}

TEST_CASE("gpu: conv: every cold copy gives the result") {
  REQUIRE_GPU();
  for (const char* phase : kPhases) {
    const std::string problem = conv_text("w=56 h=56 c=64 n=4 k=64 s=3 r=3 pad_w=1", phase, "half");
    KernelRun run("conv", problem, "cache=cold");
    REQUIRE(run.status() == DEEPBENCH_OK);
    const auto copies = uint64_t(run.describe().number("copies"));
    CHECK(copies >= 2);
    CHECK(ProblemRequest("conv", problem, "cache=cold").memory_needed() >
          copies * ProblemRequest("conv", problem, "").memory_needed() / 2);
    run.poison();
    const auto rows = uint64_t(conv_of(problem).output().rows());
    CHECK(run.call(1).copies_touched == 1);
    const std::vector<double> first = run.project(rows, 1);
    CHECK(std::none_of(first.begin(), first.end(), [](double sum) { return std::isnan(sum); }));
    for (uint64_t copy = 1; copy < std::min<uint64_t>(copies, 8); ++copy) {
      run.call(1);
      CHECK(run.project(rows, 1) == first);
    }
  }
}

TEST_CASE("gpu: conv: the workspace does not exceed its limit") {
  REQUIRE_GPU();
  const std::string problem =
      conv_text("w=28 h=28 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "float");
  for (const std::string limit : {"0", "1000000", "33554432"})
    for (const std::string& id :
         ProblemRequest("conv", problem, "limit=32 workspace=" + limit).candidates()) {
      KernelRun run("conv", problem, "workspace=" + limit + " candidate=" + id);
      REQUIRE(run.status() == DEEPBENCH_OK);
      CHECK(run.describe().number("workspace_bytes") <= std::stod(limit));
    }
}

// Some of these engines are inexact, so only their execution is checked; the verification of rows
// detects inexact results.
TEST_CASE("gpu: conv: exhaustive adds engines that the heuristics do not return, and they run") {
  REQUIRE_GPU();
  const std::string options = "library=cudnn workspace=8000000000";  // enough for all engines
  size_t ran = 0;
  for (const char* phase : kPhases)
    for (const char* precision : {"float", "half"}) {
      const std::string problem =
          conv_text("w=12 h=10 c=16 n=4 k=24 s=3 r=3 pad_w=1 pad_h=1", phase, precision);
      CAPTURE(problem);
      const auto returned = ProblemRequest("conv", problem, options + " limit=400").candidates();
      const auto all = ProblemRequest("conv", problem, options).candidates();
      REQUIRE(all.size() >= returned.size());
      CHECK(std::equal(returned.begin(), returned.end(), all.begin()));
      for (size_t i = returned.size(); i < all.size(); ++i) {
        CAPTURE(all[i]);
        KernelRun run("conv", problem, options + " candidate=" + all[i]);
        INFO(run.error());
        REQUIRE(run.status() == DEEPBENCH_OK);
        run.poison();
        CHECK(run.call(1).elapsed_ns > 0);
        CHECK(run.scan().untouched == 0);
        ++ran;
      }
    }
  CHECK(ran > 0);
}

TEST_CASE("gpu: conv: exhaustive lists engines beyond the workspace limit") {
  REQUIRE_GPU();
  const std::string problem =
      conv_text("w=28 h=28 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "float");
  size_t beyond = 0;
  for (const std::string& id :
       ProblemRequest("conv", problem, "library=cudnn workspace=0").candidates()) {
    KernelRun run("conv", problem, "library=cudnn workspace=0 candidate=" + id);
    if (run.status() == DEEPBENCH_OK) continue;
    INFO(run.error());
    CHECK(run.status() == DEEPBENCH_UNSUPPORTED);
    CHECK(run.error().find("more than the limit") != std::string::npos);
    ++beyond;
  }
  CHECK(beyond > 0);
}

TEST_CASE("gpu: conv: refusals name the reason") {
  REQUIRE_GPU();
  const std::string shape = "w=14 h=14 c=32 n=2 k=32 s=3 r=3";
  const auto refused = [&](const char* phase, const char* precision, const char* options = "") {
    KernelRun run("conv", conv_text(shape, phase, precision), options);
    CHECK(run.status() == DEEPBENCH_UNSUPPORTED);
    return run.error();
  };
  CHECK(refused("bwd_data", "int8").find("not support gradients of 8-bit") != std::string::npos);
  CHECK(refused("fwd", "int8 x_type=u8").find("x_type=s8") != std::string::npos);
  CHECK(refused("fwd", "fp8_e4m3", "library=cudnn_legacy").size() > 20);
  for (const std::string id :
       {"nosuch", "nhwc", "nhwc:", "nhwc:eng", "nhwc:eng1x", "nhwcx:eng1", ":eng1"}) {
    CAPTURE(id);
    CHECK(KernelRun("conv", conv_text(shape), "candidate=" + id).status() == DEEPBENCH_INVALID);
  }
  CHECK(
      KernelRun("conv", conv_text(shape), "library=cudnn_legacy candidate=nchw:NOSUCH").status() ==
      DEEPBENCH_INVALID);
  KernelRun unknown("conv", conv_text(shape), "candidate=nchw:eng9999");
  CHECK(unknown.status() == DEEPBENCH_UNSUPPORTED);
  CHECK(unknown.error().find("does not know this engine") != std::string::npos);
  // An engine for tensor cores must be refused for float.
  const std::string tf32 = conv_text(shape, "fwd", "tf32", "nchw");
  const auto ids = ProblemRequest("conv", tf32, "").candidates();
  bool refused_one = false;
  for (const std::string& id : ids) {
    KernelRun run("conv", conv_text(shape, "fwd", "float", "nchw"), "candidate=" + id);
    refused_one |= run.error().find("tensor cores") != std::string::npos;
  }
  CHECK(refused_one);
}

// The largest error of an output over the root of the sum of its squared products, which is some
// 2^-12 where inputs are rounded to TF32 and below 2^-20 in float.
double relative_error(KernelRun& run, const std::string& problem) {
  const Conv conv = conv_of(problem);
  const testing::NaiveConv naive(conv, kSeed);
  const std::vector<double> values = naive.output(), squares = naive.output(true);
  run.poison();
  run.call(1);
  const std::vector<double> got = run.read(uint64_t(values.size()));
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i)
    largest = std::max(largest, std::abs(got[i] - values[i]) / std::sqrt(squares[i]));
  return largest;
}

// The opposite does not hold: engines that note tensor cores compute some small shapes in float.
TEST_CASE("gpu: conv: engines for tf32 that say that they compute in float do so") {
  REQUIRE_GPU();
  constexpr double kBetween = 1.0 / (1 << 16);
  int in_float = 0, in_tf32 = 0;
  for (const std::string library : kConvLibraries)
    for (const char* phase : kPhases)
      for (const char* channels : {"c=32 k=24", "c=1 k=8", "c=19 k=19 groups=19"}) {
        const std::string shape = "w=14 h=14 n=3 s=1 r=1 " + std::string(channels);
        const std::string problem = conv_text(shape, phase, "tf32");
        for (const std::string& id :
             ProblemRequest("conv", problem, "library=" + library).candidates()) {
          CAPTURE(problem);
          CAPTURE(id);
          KernelRun run("conv", problem, "library=" + library + " candidate=" + id);
          if (run.status() != DEEPBENCH_OK) continue;
          const Emitted facts = run.describe();
          if (facts.has("transform_factor")) continue;
          const bool says_float = facts.text("arithmetic") == "float";
          if (says_float) CHECK(relative_error(run, problem) < kBetween);
          ++(says_float ? in_float : in_tf32);
        }
      }
  CHECK(in_float > 0);
  CHECK(in_tf32 > 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
