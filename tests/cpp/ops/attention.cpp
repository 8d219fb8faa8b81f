// Tests attention: masks, useful work, validity, and the reference against plain loops.
#include "deepbench/ops/attention/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_attention.hpp"

namespace deepbench {
namespace {

Attention parse(const std::string& text) {
  return attention_problem(Problem::parse("attention " + text));
}

Work work_of(const std::string& text) {
  const Problem problem = Problem::parse("attention " + text);
  return problem.operation().work(problem);
}

ExpectedOutput expectation(const std::string& text, const std::string& inputs = "uniform",
                           uint32_t output = 0) {
  const Problem problem = Problem::parse("attention " + text);
  KernelConditions conditions;
  conditions.inputs = inputs;
  conditions.output = output;
  return problem.operation().expected_output(problem, conditions);
}

// The keys [begin, end) of every query.
std::vector<std::pair<int64_t, int64_t>> keys(const std::string& text) {
  const Attention a = parse("batch=1 heads=1 dim=1 " + text);
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int64_t query = 0; query < a.seq_q; ++query)
    all.emplace_back(a.keys_of(query).begin, a.keys_of(query).end);
  return all;
}

TEST_CASE("attention: the keys that a query sees under each mask") {
  using Keys = std::vector<std::pair<int64_t, int64_t>>;
  CHECK(keys("seq_q=2 seq_kv=3") == Keys{{0, 3}, {0, 3}});
  CHECK(keys("seq_q=2 seq_kv=3 mask=top_left") == Keys{{0, 1}, {0, 2}});
  CHECK(keys("seq_q=2 seq_kv=3 mask=bottom_right") == Keys{{0, 2}, {0, 3}});
  CHECK(keys("seq_q=1 seq_kv=3 mask=bottom_right") == Keys{{0, 3}});
  CHECK(keys("seq_q=1 seq_kv=3 mask=top_left") == Keys{{0, 1}});
  CHECK(keys("seq_q=3 seq_kv=1 mask=bottom_right") == Keys{{0, 0}, {0, 0}, {0, 1}});
  CHECK(keys("seq_q=4 seq_kv=4 mask=top_left window=2") == Keys{{0, 1}, {0, 2}, {1, 3}, {2, 4}});
  CHECK(keys("seq_q=1 seq_kv=9 mask=bottom_right window=1") == Keys{{8, 9}});
  CHECK(keys("seq_q=4 seq_kv=2 mask=top_left window=1") == Keys{{0, 1}, {1, 2}, {2, 2}, {2, 2}});
}

TEST_CASE(
    "attention: the mask of one query at the bottom right hides no key, unless it has a window") {
  const auto hides_keys = [](const std::string& text) {
    return parse("batch=1 heads=1 dim=1 " + text).hides_keys();
  };
  CHECK_FALSE(hides_keys("seq_q=2 seq_kv=3"));
  CHECK(hides_keys("seq_q=2 seq_kv=3 mask=bottom_right"));
  CHECK_FALSE(hides_keys("seq_q=1 seq_kv=3 mask=bottom_right"));
  CHECK_FALSE(hides_keys("seq_q=1 seq_kv=3 mask=bottom_right window=3"));
  CHECK(hides_keys("seq_q=1 seq_kv=3 mask=bottom_right window=2"));
  CHECK(hides_keys("seq_q=1 seq_kv=3 mask=top_left"));
  CHECK_FALSE(hides_keys("seq_q=4 seq_kv=1 mask=top_left"));
}

TEST_CASE("attention: work counts the pairs that are seen, bytes each operand once") {
  const Work full = work_of("batch=2 heads=4 seq_q=5 seq_kv=7 dim=8 precision=half");
  CHECK(full.flops == 2 * 4 * 35 * 2 * (8 + 8));
  CHECK(full.bytes == 2 * 2 * 4 * (5 * 8 + 7 * 8 + 7 * 8 + 5 * 8));
  const Work causal = work_of("batch=1 heads=1 seq_q=4 seq_kv=4 dim=192 dim_v=128 mask=top_left");
  CHECK(causal.flops == 10 * 2 * (192 + 128));
  CHECK(causal.bytes == 4 * 4 * (192 + 192 + 128 + 128));
  const Work decode =
      work_of("batch=3 heads=8 kv_heads=2 seq_q=1 seq_kv=100 dim=16 mask=bottom_right");
  CHECK(decode.flops == 3 * 8 * 100 * 2 * (16 + 16));
  CHECK(decode.bytes == 4 * 3 * (2 * 8 * 16 + 2 * 2 * 100 * 16));
}

TEST_CASE("attention: gradients are five products, and move what the forward pass kept") {
  const std::string text =
      "batch=2 heads=4 kv_heads=2 seq_q=5 seq_kv=7 dim=8 dim_v=6 precision=half";
  const Work gradients = work_of(text + " phase=bwd");
  CHECK(gradients.flops == 2 * 4 * 35 * 2 * (3 * 8 + 2 * 6));
  const double q = 2 * 4 * 5 * 8, k = 2 * 2 * 7 * 8, v = 2 * 2 * 7 * 6, o = 2 * 4 * 5 * 6;
  CHECK(gradients.bytes == 2 * (2 * q + 2 * k + 2 * v + 2 * o) + 4 * (2 * 4 * 5));
  CHECK(work_of(text + " sink=yes").bytes == work_of(text).bytes + 4 * 4);
  CHECK(work_of(text + " sink=yes phase=bwd").bytes == gradients.bytes + 2 * 4 * 4);
  CHECK(work_of(text + " sink=yes").flops == work_of(text).flops);
  const Work square = work_of("batch=1 heads=1 seq_q=4 seq_kv=4 dim=64 mask=top_left phase=bwd");
  CHECK(square.flops == 2.5 * 10 * 2 * (64 + 64));
}

TEST_CASE("attention: the outputs of gradients") {
  const auto outputs = [](const std::string& text) {
    const Problem problem =
        Problem::parse("attention batch=1 heads=2 seq_q=3 seq_kv=3 dim=4 " + text);
    return problem.operation().outputs(problem);
  };
  CHECK(outputs("phase=fwd sink=yes") == std::vector<std::string>{"output"});
  CHECK(outputs("phase=bwd") == std::vector<std::string>{"dq", "dk", "dv"});
  CHECK(outputs("phase=bwd sink=yes") == std::vector<std::string>{"dq", "dk", "dv", "dsink"});
}

TEST_CASE("attention: defaults are silent, and heads share key heads in order") {
  const Problem problem = Problem::parse(
      "attention batch=1 heads=6 kv_heads=0 seq_q=1 seq_kv=2 dim=4 dim_v=0 window=0");
  CHECK(problem.str() ==
        "attention batch=1 heads=6 seq_q=1 seq_kv=2 dim=4 mask=none phase=fwd precision=float");
  const Attention a = attention_problem(problem);
  CHECK(a.kv_heads == 6);
  CHECK(a.dim_v == 4);
  CHECK(parse("batch=1 heads=6 kv_heads=2 seq_q=1 seq_kv=2 dim=4").group() == 3);
}

TEST_CASE("attention: what makes no sense is invalid") {
  for (const std::string wrong :
       {"batch=0 heads=1 seq_q=1 seq_kv=1 dim=1", "batch=1 heads=1 seq_q=1 seq_kv=1 dim=-1",
        "batch=1 heads=1 seq_q=1 seq_kv=1", "batch=1 heads=6 kv_heads=4 seq_q=1 seq_kv=1 dim=1",
        "batch=1 heads=2 kv_heads=4 seq_q=1 seq_kv=1 dim=1",
        "batch=1 heads=1 seq_q=1 seq_kv=1 dim=1 window=4",
        "batch=1 heads=1 seq_q=1 seq_kv=1 dim=1 mask=top_left window=-1",
        "batch=1 heads=1 seq_q=1 seq_kv=1 dim=1 mask=causal",
        "batch=1 heads=1 seq_q=1 seq_kv=1 dim=1 phase=bwd_data",
        "batch=1 heads=1 seq_q=1 seq_kv=1 dim=1 sink=1",
        "batch=1000000000 heads=1000000000 seq_q=100 seq_kv=100 dim=1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse(wrong), InvalidProblem);
  }
  CHECK_THROWS_WITH(parse("batch=1 heads=6 kv_heads=4 seq_q=1 seq_kv=1 dim=1"),
                    doctest::Contains("kv_heads=4 does not divide heads=6"));
}

// The sum of dO O, whose gradients are those of attention.
double weighted_output(const Attention& forward, const testing::NaiveAttention::Change& change) {
  const testing::NaiveAttention loops(forward, 1, "uniform", "", {change});
  const std::vector<double>& o = loops.outputs();
  double sum = 0;
  for (size_t i = 0; i < o.size(); ++i)
    sum += o[i] * deepbench_element(forward.type(), 1, Attention::kStreamDo, i);
  return sum;
}

TEST_CASE("attention: gradients in plain loops are the slopes of the output") {
  const std::string text =
      "batch=2 heads=4 kv_heads=2 seq_q=4 seq_kv=5 dim=3 dim_v=2 mask=bottom_right sink=yes";
  const Attention forward = parse(text), backward = parse(text + " phase=bwd");
  const testing::NaiveAttention loops(backward, 1);
  const std::pair<AttentionPart, AttentionPart> parts[] = {
      {AttentionPart::kQ, AttentionPart::kDq},
      {AttentionPart::kK, AttentionPart::kDk},
      {AttentionPart::kV, AttentionPart::kDv},
      {AttentionPart::kSink, AttentionPart::kDsink}};
  constexpr double kStep = 1e-4;
  for (const auto& [input, gradient] : parts)
    for (size_t i = 0; i < loops.outputs(gradient).size(); ++i) {
      CAPTURE(i);
      const double slope = (weighted_output(forward, {input, i, kStep}) -
                            weighted_output(forward, {input, i, -kStep})) /
                           (2 * kStep);
      CHECK(std::abs(loops.outputs(gradient)[i] - slope) <= 1e-7);
    }
}

void check_against_loops(const std::string& text, const std::string& inputs) {
  CAPTURE(text);
  CAPTURE(inputs);
  const Attention a = parse(text);
  const testing::NaiveAttention loops(a, 1, inputs);
  for (uint32_t output = 0; output < a.outputs().size(); ++output) {
    CAPTURE(output);
    const ExpectedOutput expected = expectation(text, inputs, output);
    const std::vector<double>& naive = loops.outputs(a.outputs()[output]);
    REQUIRE(expected.outputs == naive.size());
    REQUIRE(expected.indices.size() == naive.size());
    for (size_t i = 0; i < expected.indices.size(); ++i)
      CHECK(std::abs(expected.values[i] - naive[expected.indices[i]]) <= 1e-11);
    std::vector<double> sums(expected.projection_rows, 0.0);
    for (size_t i = 0; i < naive.size() && !sums.empty(); ++i)
      sums[i % sums.size()] +=
          naive[i] * deepbench_weight(expected.projection_seed, i / sums.size());
    for (size_t i = 0; i < sums.size(); ++i)
      CHECK(std::abs(expected.projections[i] - sums[i]) <= 1e-10);
  }
}

TEST_CASE("attention: the reference equals plain loops") {
  for (const std::string problem :
       {"batch=2 heads=4 kv_heads=2 seq_q=5 seq_kv=7 dim=6 dim_v=3 mask=bottom_right",
        "batch=1 heads=3 kv_heads=1 seq_q=9 seq_kv=4 dim=5 mask=bottom_right precision=half",
        "batch=2 heads=2 seq_q=6 seq_kv=6 dim=4 mask=top_left window=3 precision=bfloat16",
        "batch=1 heads=2 seq_q=1 seq_kv=1 dim=1"})
    for (const std::string kind : {"", " phase=bwd", " sink=yes", " sink=yes phase=bwd"})
      for (const std::string inputs : {"uniform", "integers", "ones"})
        check_against_loops(problem + kind, inputs);
}

TEST_CASE("attention: a large problem samples the first and the last query of every head") {
  const std::string text = "batch=2 heads=4 kv_heads=2 seq_q=700 seq_kv=700 dim=8 mask=top_left";
  const Attention a = parse(text);
  const ExpectedOutput expected = expectation(text);
  CHECK(expected.indices.size() < expected.outputs);
  for (int64_t head = 0; head < a.batch * a.heads; ++head)
    for (const int64_t query : {int64_t{0}, a.seq_q - 1})
      CHECK(std::count(expected.indices.begin(), expected.indices.end(),
                       uint64_t((head * a.seq_q + query) * a.dim_v)) == 1);
  CHECK(expectation(text, "integers").projections.size() == 8);
}

TEST_CASE("attention: of large gradients queries of every head and keys are compared") {
  const std::string text =
      "batch=2 heads=2 kv_heads=1 seq_q=300 seq_kv=300 dim=64 mask=top_left phase=bwd";
  const Attention a = parse(text);
  const std::vector<uint64_t> dq = expectation(text).indices;
  for (int64_t head = 0; head < a.batch * a.heads; ++head)
    for (const int64_t query : {int64_t{0}, a.seq_q - 1})
      CHECK(std::count(dq.begin(), dq.end(), uint64_t((head * a.seq_q + query) * a.dim)) == 1);
  const std::vector<uint64_t> dk = expectation(text, "uniform", 1).indices;
  CHECK(dk.size() == 2 * 4 * 64);
  for (int64_t head = 0; head < a.products(); ++head)
    for (const int64_t key : {int64_t{0}, a.seq_kv - 1})
      CHECK(std::count(dk.begin(), dk.end(), uint64_t((head * a.seq_kv + key) * a.dim)) == 1);
  for (const uint32_t output : {0, 1, 2})
    CHECK(expectation(text, "integers", output).projections.size() == 64);
}

// All queries see all keys, too many for float64; under a mask, few see the last key.
TEST_CASE("attention: keys whose queries are too many are left to the projection") {
  const std::string text = "batch=1 heads=1 seq_q=12000 seq_kv=12000 dim=128 phase=bwd mask=";
  const ExpectedOutput full = expectation(text + "none", "uniform", 1);
  CHECK(full.indices.empty());
  CHECK(full.coverage == "0 of 1536000 outputs");
  const ExpectedOutput masked = expectation(text + "top_left", "uniform", 2);
  CHECK(masked.indices.size() == 128);
  CHECK(masked.indices.back() == 1536000 - 1);
}

TEST_CASE("attention: a query that sees no key gives exactly 0") {
  const ExpectedOutput expected =
      expectation("batch=1 heads=1 seq_q=3 seq_kv=1 dim=2 mask=bottom_right");
  CHECK(expected.values[0] == 0);
  CHECK(expected.bounds[0] == 0);
  CHECK(expected.bounds[5] > 0);
}

TEST_CASE("attention: default problems grow with a memory of the device's own") {
  const Operation& operation = find_operation("attention");
  Attributes gpu, processor;
  gpu.set("shares_host_memory", int64_t{0});
  processor.set("shares_host_memory", int64_t{1});
  const auto small = operation.default_problems(processor), large = operation.default_problems(gpu);
  CHECK(small.size() >= 4);
  CHECK(large.size() > small.size());
  for (const std::string& line : large) CHECK_NOTHROW(Problem::parse(line));
}

}  // namespace
}  // namespace deepbench
