// Tests conv: output sizes, useful work, the order of outputs and rejected problems.
#include "deepbench/ops/conv/conv.hpp"

#include <doctest/doctest.h>

#include "../suite_totals.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/conv/transform_factor.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;
using testing::SuiteTotals;

TEST_CASE("conv: totals of the shipped sets, the same for every phase") {
  for (const std::string phase : {"fwd", "bwd_data", "bwd_filter"}) {
    const SuiteTotals training = suite_totals("training", "conv", "phase=" + phase);
    CHECK(training.problems == 94);
    CHECK(training.work.flops == 562504360960.0);
    CHECK(training.work.bytes == 3411953792.0);
  }
  CHECK(suite_totals("training", "conv", "precision=half").work.bytes == 1705976896.0);
  const SuiteTotals server = suite_totals("inference_server", "conv");
  CHECK(server.problems == 107);
  CHECK(server.work.flops == 86883119872.0);
  CHECK(server.work.bytes == 691358048.0);
  const SuiteTotals device = suite_totals("inference_device", "conv");
  CHECK(device.problems == 16);
  CHECK(device.work.flops == 1823997952.0);
  CHECK(device.work.bytes == 67495936.0);
}

Conv parse_conv(const std::string& line) { return conv_problem(Problem::parse("conv " + line)); }

TEST_CASE("conv: a transform replaces as many multiplications as its tiles allow") {
  const Conv pointwise = parse_conv("w=7 h=7 c=1 n=1 k=1 s=1 r=1");
  CHECK(winograd_factor(pointwise) == 1);
  CHECK(fft_factor(pointwise) == 1);
  const Conv small = parse_conv("w=7 h=7 c=1 n=1 k=1 s=3 r=3");
  CHECK(winograd_factor(small) == 4);  // F(4x4, 3x3): 36 multiplications for 144
  CHECK(fft_factor(small) == 6);
  const Conv large = parse_conv("w=7 h=7 c=1 n=1 k=1 s=5 r=5");
  CHECK(winograd_factor(large) == doctest::Approx(45.0 * 45 / 169));
}

TEST_CASE("a kernel may state the factor of a transform, and no larger one") {
  const Problem problem = Problem::parse("conv w=16 h=16 c=4 n=1 k=4 s=3 r=3");
  const Operation& operation = problem.operation();
  CHECK(operation.permits_condition(problem, "transform_factor", 4.0));
  CHECK(operation.permits_condition(problem, "transform_factor", 6.0));  // of an FFT
  CHECK_FALSE(operation.permits_condition(problem, "transform_factor", 6.1));
}

TEST_CASE("conv: tf32 may be computed in float, and stands beside the same problem in float") {
  const std::string shape = "conv w=16 h=16 c=4 n=1 k=4 s=3 r=3 d=5 t=3 phase=bwd_data precision=";
  const Problem tf32 = Problem::parse(shape + "tf32"), half = Problem::parse(shape + "half");
  const Operation& operation = tf32.operation();
  CHECK(operation.permits_condition(tf32, "arithmetic", std::string("float")));
  CHECK_FALSE(operation.permits_condition(tf32, "arithmetic", std::string("half")));
  CHECK_FALSE(operation.permits_condition(half, "arithmetic", std::string("float")));
  CHECK(operation.baselines(half).empty());
  const std::vector<Baseline> baselines = operation.baselines(tf32);
  REQUIRE(baselines.size() == 1);
  CHECK(baselines[0].name == "float baseline");
  CHECK(baselines[0].metric == "float_time");
  CHECK(baselines[0].speedup == "speedup_over_float");
  CHECK(baselines[0].most_speed == 1.5);
  CHECK(Problem::parse(baselines[0].problem) == Problem::parse(shape + "float"));
}

TEST_CASE("conv: the size of the output follows from padding, stride and dilation") {
  const Conv first = parse_conv("w=700 h=161 c=1 n=4 k=32 s=20 r=5 stride_w=2 stride_h=2");
  CHECK(first.q() == 341);
  CHECK(first.p() == 79);
  CHECK(parse_conv("w=7 h=7 c=1 n=1 k=1 s=3 r=3 pad_w=1 pad_h=1").p() == 7);
  CHECK(parse_conv("w=7 h=7 c=1 n=1 k=1 s=3 r=3 dilation_h=3").p() == 1);
  CHECK(parse_conv("w=8 h=8 c=1 n=1 k=1 s=3 r=3 stride_w=2").q() ==
        3);  // the extent is rounded down
  CHECK(parse_conv("w=3 h=3 c=1 n=1 k=1 s=3 r=3").q() == 1);
  CHECK(Conv::output_extent(2, 3, 0, 1, 1) == 0);
}

TEST_CASE("conv: groups divide the work") {
  const Conv whole = parse_conv("w=9 h=9 c=4 n=2 k=8 s=3 r=3");
  CHECK(whole.flops() == 2.0 * 2 * 8 * 4 * 3 * 3 * 7 * 7);
  CHECK(parse_conv("w=9 h=9 c=4 n=2 k=8 s=3 r=3 groups=4").flops() == whole.flops() / 4);
}

TEST_CASE("conv: work in three dimensions and in int8") {
  const auto work = [](const std::string& line) {
    const Problem problem = Problem::parse("conv " + line);
    return problem.operation().work(problem);
  };
  const std::string line = "w=9 h=9 c=4 n=2 k=8 s=3 r=3 d=5 t=3";
  CHECK(work(line).flops == 2.0 * 2 * 8 * 4 * 27 * 3 * 7 * 7);
  CHECK(work(line).bytes == 4.0 * (2 * 4 * 5 * 81 + 8 * 4 * 27 + 2 * 8 * 3 * 49));
  CHECK(work("w=9 h=9 c=4 n=2 k=8 s=3 r=3 precision=int8").bytes ==
        2 * 4 * 81 + 8 * 4 * 9 + 4 * 2 * 8 * 49);  // outputs are stored as int32
}

TEST_CASE("conv: the third dimension is part of a problem only where it is used") {
  const auto text = [](const std::string& line) { return Problem::parse("conv " + line).str(); };
  const std::string flat = "w=9 h=9 c=4 n=2 k=8 s=3 r=3";
  CHECK(text(flat) == text(flat + " d=1 t=1 pad_d=0 stride_d=1 dilation_d=1"));
  CHECK(text(flat).find(" d=") == std::string::npos);
  const std::string deep = text(flat + " d=5 pad_d=1 t=3");
  CHECK(deep.find(" d=5 t=3 pad_d=1") != std::string::npos);
  CHECK(Problem::parse(deep).str() == deep);
  const Conv conv = parse_conv(flat + " d=7 t=2 stride_d=2 dilation_d=3");
  CHECK(conv.is_3d());
  CHECK(conv.o() == 2);
  CHECK_FALSE(parse_conv(flat).is_3d());
}

TEST_CASE("conv: x_type selects signed or unsigned x") {
  const std::string line = "w=9 h=9 c=4 n=2 k=8 s=3 r=3 ";
  CHECK(parse_conv(line).x_type == DEEPBENCH_F32);
  CHECK(parse_conv(line + "precision=int8").x_type == DEEPBENCH_S8);
  CHECK(parse_conv(line + "precision=int8 x_type=u8").x_type == DEEPBENCH_U8);
}

TEST_CASE("conv: y_type selects 8-bit outputs and their shift") {
  const std::string line = "w=9 h=9 c=4 n=2 k=8 s=3 r=3 precision=int8";
  const std::string old = Problem::parse("conv " + line).str();
  CHECK(old == Problem::parse("conv " + line + " y_type=s32").str());
  // Result files written without this parameter contain the same line.
  CHECK(old.find("y_type") == std::string::npos);
  CHECK(parse_conv(line).precision.c == DEEPBENCH_S32);
  CHECK_FALSE(parse_conv(line).saturates());
  CHECK(parse_conv(line).output_scale() == 1);
  const Problem narrow = Problem::parse("conv " + line + " y_type=s8");
  CHECK(Problem::parse(narrow.str()).str() == narrow.str());
  CHECK(narrow.operation().work(narrow).bytes == 2 * 4 * 81 + 8 * 4 * 9 + 2 * 8 * 49);
  // sqrt(36) 73.9^2 = 32,767 is about 64 times 2^9.
  CHECK(parse_conv(line + " y_type=s8").shift == 9);
  CHECK(parse_conv(line + " y_type=s8").output_scale() == 1.0 / 512);
  CHECK(parse_conv(line + " y_type=s8 x_type=u8").shift == 10);
  CHECK(parse_conv("w=1 h=1 c=1 n=1 k=1 s=1 r=1 precision=int8 y_type=s8").shift == 6);
}

TEST_CASE("conv: outputs are numbered with the cheaper dimension to project slowest") {
  const auto output = [](const std::string& line) {
    return parse_conv("w=7 h=7 s=3 r=3 pad_w=1 pad_h=1 " + line).output();
  };
  CHECK(output("n=4 c=3 k=5").slowest_extent() == 5);
  CHECK(output("n=6 c=3 k=5").slowest_extent() == 6);
  CHECK(output("n=4 c=3 k=8 groups=1").rows() == 4 * 49);
  CHECK(output("n=4 c=8 k=8 groups=8").slowest_extent() == 4);  // each group has one channel
  CHECK(output("n=4 c=8 k=2 phase=bwd_data").slowest_extent() == 8);
  CHECK(output("n=9 c=8 k=2 phase=bwd_data").slowest_extent() == 9);
  CHECK(output("n=9 c=8 k=2 phase=bwd_filter").slowest_extent() == 8);
  CHECK(output("n=9 c=8 k=8 phase=bwd_filter").slowest_extent() == 8);
  CHECK(output("n=9 c=8 k=8 phase=bwd_filter").rows() == 8 * 9);
  for (const bool second : {false, true}) {
    const ConvOutput shape = {3, 5, 7, second};
    CHECK(shape.index(2, 1, 4) == (second ? (1 * 3 + 2) * 7 + 4 : (2 * 5 + 1) * 7 + 4));
    CHECK(shape.tensor_index(shape.index(2, 1, 4)) == (2 * 5 + 1) * 7 + 4);
    CHECK(shape.rows() == (second ? 21 : 35));
  }
}

std::string rejection_message(const std::string& line) {
  try {
    Problem::parse("conv " + line);
  } catch (const InvalidProblem& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("conv: invalid problems are rejected with a reason of one line") {
  const std::string rest = " c=4 n=2 k=8 s=3 r=3";
  CHECK(rejection_message("w=2 h=9" + rest) ==
        "the output is empty: the dilated filter's width, 3, exceeds the padded input's, "
        "w + 2 pad_w = 2");
  CHECK(rejection_message("w=9 h=6 dilation_h=4 pad_h=1" + rest) ==
        "the output is empty: the dilated filter's height, 9, exceeds the padded input's, "
        "h + 2 pad_h = 8");
  CHECK(rejection_message("w=9 h=9 t=2" + rest)
            .find("the output is empty: the dilated filter's depth, 2, ") == 0);
  CHECK(rejection_message("w=9 h=9 groups=3" + rest) == "groups=3 does not divide c=4");
  CHECK(rejection_message("w=9 h=9 groups=4 c=4 n=2 k=6 s=3 r=3") ==
        "groups=4 does not divide k=6");
  CHECK(rejection_message("w=1000000000 h=1000000000 c=1000 n=1 k=1 s=1 r=1") ==
        "the size of the input in bytes does not fit 64 bits");
  CHECK(rejection_message("w=1 h=1 c=1000000000 n=1 k=1000000000 s=3 r=3 pad_w=5 pad_h=5") ==
        "the size of the filter in bytes does not fit 64 bits");
  CHECK(rejection_message("w=9 h=9 c=1 n=1000000000 k=1000000000 s=1 r=1") ==
        "the size of the output in bytes does not fit 64 bits");
  CHECK(rejection_message("w=10000 h=10000 c=100000 n=1 k=100000 s=3 r=3 pad_w=1 pad_h=1") ==
        "the number of operations does not fit 64 bits");
  CHECK(rejection_message("w=0 h=9" + rest).find("w=0: must be at least 1") == 0);
  CHECK(rejection_message("w=9 h=9 pad_w=-1" + rest).find("pad_w=-1: must be at least 0") == 0);
  CHECK(rejection_message("w=9 h=9 x_type=u8" + rest).find("x_type is a parameter only where") ==
        0);
  CHECK(rejection_message("w=9 h=9 y_type=s8" + rest).find("y_type is a parameter only where") ==
        0);
  CHECK(rejection_message("w=9 h=9 precision=int8 y_type=u8" + rest)
            .find("y_type=u8: must be one of") == 0);
  CHECK(rejection_message("w=9 h=9 pad_d=0 d=0" + rest).find("d=0: must be at least 1") == 0);
}

TEST_CASE("conv: strides far beyond the input are computed, huge padding is rejected") {
  const std::string line =
      "conv w=3 h=3 c=2 n=1 k=2 s=3 r=3 stride_w=1000000000 stride_h=1000000000 phase=";
  const std::vector<std::pair<std::string, size_t>> outputs = {
      {"fwd", 2}, {"bwd_data", 18}, {"bwd_filter", 36}};
  for (const auto& [phase, count] : outputs) {
    const Problem problem = Problem::parse(line + phase);
    CHECK(problem.operation().expected_output(problem, {}).indices.size() == count);
  }
  CHECK_THROWS_WITH_AS(Problem::parse("conv w=1 h=1 c=1 n=1 k=1 s=1 r=1 pad_w=500000000"),
                       "pad_w=500000000: must be at most 100000", InvalidProblem);
}

}  // namespace
}  // namespace deepbench
