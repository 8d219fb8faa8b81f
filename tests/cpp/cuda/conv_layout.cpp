// The layouts of convolutions for cuDNN: positions of elements, padding and its rule, and memory;
// and the notation of engines.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "cudnn/engine.hpp"
#include "deepbench/core/precision.hpp"
#include "ops/conv/layout.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::conv_layouts;
using cuda::ConvLayout;
using cuda::ConvTensor;

Conv example_conv(const char* precision, ConvPhase phase = ConvPhase::kForward) {
  Conv conv;
  conv.w = 5, conv.h = 4, conv.c = 6, conv.n = 3, conv.k = 10, conv.s = 3, conv.r = 2;
  conv.pad_w = 1;
  conv.phase = phase;
  conv.precision = precision_info(precision);
  conv.x_type = conv.precision.a;
  return conv;
}

std::vector<std::string> names_of(const std::vector<ConvLayout>& layouts) {
  std::vector<std::string> names;
  for (const ConvLayout& layout : layouts) names.push_back(layout.name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("conv layouts: float defaults to channels first, other precisions to channels last") {
  CHECK(names_of(conv_layouts(example_conv("float"), "library", true)) == Names{"nchw", "nhwc"});
  for (const char* precision : {"tf32", "fp8_e4m3"})
    CHECK(names_of(conv_layouts(example_conv(precision), "library", true)) ==
          Names{"nhwc", "nchw"});
  CHECK(names_of(conv_layouts(example_conv("half"), "nchw", true)) == Names{"nchw"});
  CHECK(names_of(conv_layouts(example_conv("float"), "nhwc", true)) == Names{"nhwc"});
  CHECK(names_of(conv_layouts(example_conv("int8"), "library", false)) == Names{"nhwc", "nchw"});
}

TEST_CASE("conv layouts: padded channels can also be fewer, or as they are") {
  CHECK(names_of(conv_layouts(example_conv("int8"), "library", true)) ==
        Names{"nhwc", "nhwc4", "nchw"});
  for (const char* precision : {"half", "bfloat16"}) {
    CAPTURE(precision);
    Conv conv = example_conv(precision);
    const std::vector<ConvLayout> layouts = conv_layouts(conv, "library", true);
    REQUIRE(names_of(layouts) == Names{"nhwc", "nhwc1", "nchw"});
    CHECK(layouts[0].executed.c == 8);
    CHECK(layouts[1].executed.c == 6);
    CHECK(layouts[1].executed.k == 10);
    CHECK(layouts[1].padding_rule.empty());
    conv.c = 16, conv.k = 8;
    CHECK(names_of(conv_layouts(conv, "library", true)) == Names{"nhwc", "nchw"});
  }
}

TEST_CASE("conv layouts: channels are padded by the precision's rule, width and height are not") {
  struct PrecisionCase {
    const char* precision;
    int64_t c, k;
  };
  for (const PrecisionCase& expected :
       {PrecisionCase{"half", 8, 16}, PrecisionCase{"bfloat16", 8, 16},
        PrecisionCase{"float", 6, 10}, PrecisionCase{"tf32", 6, 10},
        PrecisionCase{"fp8_e4m3", 16, 16}, PrecisionCase{"int8", 32, 32}}) {
    CAPTURE(expected.precision);
    const Conv conv = example_conv(expected.precision);
    const ConvLayout layout = conv_layouts(conv, "library", true).front();
    CHECK(layout.executed.c == expected.c);
    CHECK(layout.executed.k == expected.k);
    CHECK(layout.executed.w == conv.w);
    CHECK(layout.executed.h == conv.h);
    CHECK(layout.is_padded() == !layout.padding_rule.empty());
    CHECK(layout.problem.c == conv.c);
    const ConvLayout plain = conv_layouts(conv, "library", false).front();
    CHECK_FALSE(plain.is_padded());
    CHECK(plain.padding_rule.empty());
  }
  Conv even = example_conv("half");
  even.c = 16, even.k = 8;
  CHECK_FALSE(conv_layouts(even, "library", true).front().is_padded());
  Conv grouped = example_conv("half");
  grouped.groups = 2;
  CHECK_FALSE(conv_layouts(grouped, "library", true).front().is_padded());
  CHECK(conv_layouts(example_conv("int8"), "library", true)[1].executed.c == 8);
}

// The position of [first][second][rest] by the definition of the layout.
int64_t defined_position(const ConvTensor& tensor, int64_t first, int64_t second, int64_t rest) {
  const int64_t stored = tensor.sizes[1];
  return tensor.channels_last ? (first * tensor.rest + rest) * stored + second
                              : (first * stored + second) * tensor.rest + rest;
}

int64_t position_in(const cuda::Matrix& m, uint64_t index) {
  return int64_t(index % m.rows * m.row_stride + index / m.rows % m.columns * m.column_stride +
                 index / m.rows / m.columns * m.plane_stride);
}

TEST_CASE("conv layouts: every element lies at the position of its index") {
  for (const auto phase :
       {ConvPhase::kForward, ConvPhase::kBackwardData, ConvPhase::kBackwardFilter})
    for (const char* order_name : {"nchw", "nhwc"})
      for (const bool pad : {false, true})
        for (const bool swapped : {false, true}) {
          Conv conv = example_conv("half", phase);
          if (swapped) conv.n = 11, conv.c = 12, conv.k = 9;
          const ConvLayout layout = conv_layouts(conv, order_name, pad).front();
          const ConvOutput order = conv.output();
          for (const ConvTensor* tensor : {&layout.x, &layout.w, &layout.y}) {
            CAPTURE(tensor->operand);
            std::set<int64_t> positions;
            uint64_t wrong = 0;
            for (int64_t i = 0; i < tensor->first; ++i)
              for (int64_t j = 0; j < tensor->second; ++j)
                for (int64_t rest = 0; rest < tensor->rest; ++rest) {
                  const int64_t position = defined_position(*tensor, i, j, rest);
                  const int64_t index = (i * tensor->second + j) * tensor->rest + rest;
                  positions.insert(position);
                  wrong += position_in(tensor->logical_view(nullptr), uint64_t(index)) != position;
                  if (tensor == &layout.output())
                    wrong += position_in(tensor->output_view(order, nullptr),
                                         uint64_t(order.index(i, j, rest))) != position;
                }
            CHECK(wrong == 0);
            CHECK(int64_t(positions.size()) == tensor->first * tensor->second * tensor->rest);
            CHECK(uint64_t(*positions.rbegin()) < tensor->elements());
          }
        }
}

TEST_CASE("conv layouts: types, strides and sizes are correct") {
  Conv conv = example_conv("int8");
  conv.d = 3, conv.t = 2;
  const ConvLayout layout = conv_layouts(conv, "nhwc", false).front();
  CHECK(layout.x.type == DEEPBENCH_S8);
  CHECK(layout.y.type == DEEPBENCH_F32);  // exact up to 2^24
  CHECK(layout.x.sizes == std::vector<int64_t>{3, 6, 3, 4, 5});
  CHECK(layout.x.strides() == std::vector<int64_t>{360, 1, 120, 30, 6});
  CHECK(layout.touched_bytes() == uint64_t(conv.x_size() + conv.w_size() + 4 * conv.y_size()));
  CHECK(layout.needed_bytes({plugin::Regime::kRotation, 3, 0}, 100) >=
        3 * layout.touched_bytes() + 100);
  CHECK(layout.inputs().size() == 2);
  Conv narrow = conv;
  narrow.precision.c = DEEPBENCH_S8;
  const ConvLayout bytes = conv_layouts(narrow, "nhwc", false).front();
  CHECK(bytes.y.type == DEEPBENCH_S8);
  Conv huge = example_conv("float");
  huge.n = huge.c = huge.w = huge.h = 1000000000;
  CHECK(conv_layouts(huge, "nchw", true).front().x.bytes() == ~uint64_t{0});
}

TEST_CASE("engines use cuDNN's notation and can be parsed") {
  using cuda::dnn::Engine;
  using cuda::dnn::parse_engine;
  Engine engine;
  for (const char* text : {"eng0", "eng22_k2=18_k13=1", "eng41_k12=-1_k17=128"}) {
    CAPTURE(text);
    REQUIRE(parse_engine(text, &engine));
    CHECK(engine.text() == text);
  }
  CHECK(engine.index == 41);
  CHECK(engine.knobs == std::vector<std::pair<int64_t, int64_t>>{{12, -1}, {17, 128}});
  for (const char* text :
       {"", "eng", "eng-1", "eng1_", "eng1_k", "eng1_k2", "eng1_k2=", "eng1 ", "eng01",
        "eng1_k2=+3", "engine1", "eng1_k2=3x", "eng99999999999999999999"})
    CHECK_FALSE(parse_engine(text, &engine));
}

}  // namespace
}  // namespace deepbench::cuda_test
