// Attention composed from oneDNN against plain loops: masks, grouped heads, parts of the heads,
// precisions, refills and refusals, and the softmax between the products.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../mutants/outputs.hpp"
#include "../ops/naive_attention.hpp"
#include "deepbench/plugin.hpp"
#include "harness.hpp"
#include "ops/attention/softmax.hpp"
#include "plugin_runner.hpp"

namespace deepbench::cpu_test {
namespace {

constexpr uint64_t kSeed = 3;

Attention attention_of(const std::string& problem) {
  const NamedValues named(problem);
  return attention_problem(plugin::Values(named.get()));
}

// A gradient is a sum of values of up to 1 (integers: 7 times the length of a value) with weights
// whose sum is at most the number of queries of a key; tests have few of them.
void check_outputs(const Attention& attention, const std::vector<double>& got,
                   const std::vector<double>& right, const std::string& inputs) {
  REQUIRE(got.size() == right.size());
  const double roundoff = attention.precision.output_roundoff;
  double largest = inputs == "integers" ? 7 : 1;
  if (attention.is_backward) largest *= std::sqrt(double(attention.dim_v));
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(
        worst, std::abs(got[i] - right[i]) / (largest * (4 * roundoff + 64 * kRoundoffFloat)));
  CHECK(worst <= 1);
}

void check_every_output(Kernel& kernel, const Attention& attention, const std::string& inputs) {
  const testing::NaiveAttention loops(attention, kSeed, inputs);
  for (uint32_t output = 0; output < attention.outputs().size(); ++output) {
    CAPTURE(output);
    const std::vector<double>& right = loops.outputs(attention.outputs()[output]);
    const deepbench_scan scan = kernel.scan(output);
    CHECK(scan.count == right.size());
    CHECK(scan.untouched == 0);
    CHECK(scan.non_finite == 0);
    check_outputs(attention, kernel.read(right.size(), output), right, inputs);
  }
}

void check_problem(const std::string& problem, const std::string& options = "") {
  CAPTURE(problem);
  CAPTURE(options);
  const Attention attention = attention_of(problem);
  Kernel kernel("attention", problem,
                "library=onednn seed=" + std::to_string(kSeed) + " " + options);
  kernel.poison();
  for (uint32_t output = 0; output < attention.outputs().size(); ++output)
    CHECK(kernel.scan(output).untouched ==
          uint64_t(attention.elements(attention.outputs()[output])));
  kernel.run(1);
  check_every_output(kernel, attention, "uniform");
  REQUIRE(backend().refill(kernel.handle(), "integers", kSeed) == DEEPBENCH_OK);
  kernel.run(1);
  check_every_output(kernel, attention, "integers");
}

void check_gradients(const std::string& problem, const std::string& options = "") {
  check_problem(problem + " phase=bwd", options);
  check_problem(problem + " phase=bwd sink=yes", options);
}

const std::string kGrouped =
    "batch=2 heads=6 kv_heads=2 seq_q=13 seq_kv=37 dim=24 dim_v=16 mask=bottom_right";

// The precisions in which oneDNN multiplies on this processor; bfloat16 needs AVX-512.
std::vector<std::string> precisions() {
  std::vector<std::string> all = {" precision=float"};
  const std::string bfloat16 = " precision=bfloat16";
  if (plan_status("attention", kGrouped + bfloat16).status == DEEPBENCH_OK) all.push_back(bfloat16);
  return all;
}

TEST_CASE("cpu attention: every mask, grouped heads and both lengths") {
  if (!is_installed("onednn")) return;
  for (const std::string& precision : precisions()) {
    check_problem(kGrouped + precision);
    check_problem("batch=1 heads=2 seq_q=33 seq_kv=33 dim=64 mask=top_left window=5" + precision);
    check_problem("batch=2 heads=4 kv_heads=1 seq_q=1 seq_kv=100 dim=32 mask=bottom_right" +
                  precision);
    check_problem("batch=1 heads=2 seq_q=17 seq_kv=5 dim=8 mask=bottom_right" + precision);
    check_problem("batch=1 heads=1 seq_q=1 seq_kv=1 dim=1" + precision);
  }
}

TEST_CASE("cpu attention: gradients and sinks under every mask, grouping and length") {
  if (!is_installed("onednn")) return;
  for (const std::string& precision : precisions()) {
    check_problem(kGrouped + " sink=yes" + precision);
    check_gradients(kGrouped + precision);
    check_gradients("batch=1 heads=2 seq_q=33 seq_kv=33 dim=64 mask=top_left window=5" + precision);
    check_gradients("batch=2 heads=4 kv_heads=1 seq_q=1 seq_kv=100 dim=32 mask=bottom_right" +
                    precision);
    check_gradients("batch=1 heads=2 seq_q=17 seq_kv=5 dim=8 mask=bottom_right" + precision);
    check_gradients("batch=1 heads=1 seq_q=1 seq_kv=1 dim=1" + precision);
  }
  check_gradients(kGrouped + " precision=float", "workspace=20000");
}

// Sequences that are longer than a block, of several heads that share a key head, with and without
// queries and keys that no other sees, in one block of heads and in several.
TEST_CASE("cpu attention: long sequences in blocks of queries") {
  if (!is_installed("onednn")) return;
  const std::string heads = "batch=2 heads=4 kv_heads=2 dim=8 dim_v=4 sink=yes";
  for (const std::string lengths :
       {" seq_q=150 seq_kv=150 mask=top_left window=20", " seq_q=150 seq_kv=200 mask=top_left",
        " seq_q=140 seq_kv=70 mask=bottom_right", " seq_q=70 seq_kv=140 mask=bottom_right window=9",
        " seq_q=70 seq_kv=300 mask=top_left window=9"})
    for (const std::string& precision : precisions()) {
      const std::string problem = heads + lengths + precision;
      check_problem(problem);
      check_problem(problem + " phase=bwd");
      check_problem(problem + " phase=bwd", "workspace=0");
    }
  const Kernel kernel("attention", heads + " seq_q=150 seq_kv=150 mask=top_left precision=float");
  const Emitted facts = kernel.describe();
  CHECK(facts.text("algorithm").find("in 3 blocks of queries") != std::string::npos);
  CHECK(facts.text("note.composition").find("without keys that no query of a block sees") !=
        std::string::npos);
}

TEST_CASE("cpu attention: the scores of a window take the memory of a block") {
  if (!is_installed("onednn")) return;
  const std::string problem =
      "batch=1 heads=1 seq_q=4096 seq_kv=4096 dim=8 mask=top_left window=64 precision=float";
  const Kernel kernel("attention", problem, "workspace=0");
  CHECK(kernel.describe().number("workspace_bytes") < 4.0 * 4096 * 4096 / 16);
}

TEST_CASE("cpu attention: gradients tell their products and twice the scores") {
  if (!is_installed("onednn")) return;
  const Kernel forward("attention", kGrouped + " precision=float");
  const Kernel gradients("attention", kGrouped + " precision=float phase=bwd");
  CHECK(gradients.describe().text("algorithm").find("softmax gradient") != std::string::npos);
  CHECK(gradients.describe().number("workspace_bytes") >= 2 * 4.0 * 4 * 3 * 13 * 37);
  CHECK(forward.describe().number("workspace_bytes") <
        gradients.describe().number("workspace_bytes"));
}

TEST_CASE("cpu attention: the heads are divided where the workspace is small") {
  if (!is_installed("onednn")) return;
  check_problem(kGrouped + " precision=float", "workspace=20000");
  const Kernel all("attention", kGrouped + " precision=float");
  CHECK(all.describe().text("algorithm").find("(all heads at a time)") != std::string::npos);
  const Kernel some("attention", kGrouped + " precision=float", "workspace=20000");
  CHECK(some.describe().text("algorithm").find("(2 of 4 key heads at a time)") !=
        std::string::npos);
  const Kernel one("attention", kGrouped + " precision=float", "workspace=0");
  CHECK(one.describe().has("note.workspace"));
  CHECK(one.describe().number("workspace_bytes") < all.describe().number("workspace_bytes"));
}

TEST_CASE("cpu attention: the sums of gradients count towards the workspace") {
  if (!is_installed("onednn")) return;
  if (precisions().size() == 1) return;  // float adds its gradients where they are stored
  const std::string problem =
      "batch=1 heads=8 seq_q=2048 seq_kv=2048 dim=64 mask=none window=32 precision=bfloat16 "
      "phase=bwd";
  const Kernel some("attention", problem, "workspace=4000000");
  CHECK(some.describe().text("algorithm").find("key heads at a time)") != std::string::npos);
  const Kernel one("attention", problem, "workspace=1000000");  // less than the sums of a head
  CHECK(one.describe().has("note.workspace"));
}

TEST_CASE("cpu attention: what oneDNN has no products for is unsupported") {
  if (!is_installed("onednn")) return;
  for (const std::string precision : {"tf32", "fp8_e4m3", "int8"}) {
    const auto [status, error] = plan_status("attention", kGrouped + " precision=" + precision);
    CHECK(status == DEEPBENCH_UNSUPPORTED);
    CHECK(error.find(precision == "fp8_e4m3" ? "8-bit" : precision) != std::string::npos);
  }
  CHECK(prepare_status("attention",
                       "batch=1000 heads=1000 seq_q=10000 seq_kv=10000 dim=128 "
                       "mask=none precision=float") == DEEPBENCH_OUT_OF_MEMORY);
}

TEST_CASE("cpu attention: a row of the whole run is verified") {
  if (!is_installed("onednn")) return;
  const std::string last = precisions().back();
  for (const std::string& kind :
       {std::string(), std::string(" phase=bwd"), " phase=bwd sink=yes" + last}) {
    const Row row = run_row("attention " + kGrouped + kind);
    REQUIRE_MESSAGE(row.has_rates(), row.reason);
    CHECK(row.verification.state == Verification::State::kPassed);
  }
  // Some sinks take most of the weight, and the others are rounded alike.
  const Row row = run_row(
      "attention batch=1 heads=8 kv_heads=2 seq_q=64 seq_kv=64 dim=16 mask=top_left sink=yes" +
      last);
  CHECK_MESSAGE(row.verification.state == Verification::State::kPassed, row.verification.reason);
}

// ---- the softmax -------------------------------------------------------------------------------

std::vector<double> weights_of(std::vector<float> scores, int64_t begin, int64_t end, float scale,
                               deepbench_type type, float sink = cpu::kNoSink) {
  const auto keys = int64_t(scores.size());
  std::vector<float> floats(scores.size(), 9);
  std::vector<uint16_t> words(scores.size(), 9);
  void* const to = type == DEEPBENCH_F32 ? static_cast<void*>(floats.data()) : words.data();
  cpu::write_weights({scores.data(), keys, begin, end}, scale, sink, type, to);
  std::vector<double> weights(scores.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = type == DEEPBENCH_F32   ? double(floats[i])
                 : type == DEEPBENCH_F16 ? double(deepbench_from_half(words[i]))
                                         : double(deepbench_from_bfloat16(words[i]));
  return weights;
}

std::vector<float> random_scores(size_t count, float largest) {
  std::vector<float> scores(count);
  for (size_t i = 0; i < count; ++i) scores[i] = largest * deepbench_uniform(kSeed, 0, i);
  return scores;
}

TEST_CASE("cpu attention: weights of any number of keys in every type") {
  for (const deepbench_type type : {DEEPBENCH_F32, DEEPBENCH_F16, DEEPBENCH_BF16})
    for (const int64_t keys : {1, 15, 16, 17, 100})
      for (const float largest : {0.5f, 20.0f, 300.0f}) {
        const std::vector<float> scores = random_scores(size_t(keys), largest);
        const int64_t begin = keys / 3, end = keys - keys / 4;
        const std::vector<double> got = weights_of(scores, begin, end, 0.25f, type);
        const double roundoff = type == DEEPBENCH_F16    ? kRoundoffHalf
                                : type == DEEPBENCH_BF16 ? kRoundoffBfloat16
                                                         : 0;
        double most = scores[size_t(begin)], sum = 0;
        for (int64_t i = begin; i < end; ++i) most = std::max(most, double(scores[size_t(i)]));
        for (int64_t i = begin; i < end; ++i) sum += std::exp((scores[size_t(i)] - most) / 4);
        for (int64_t i = 0; i < keys; ++i) {
          const bool seen = i >= begin && i < end;
          const double right = seen ? std::exp((scores[size_t(i)] - most) / 4) / sum : 0;
          const double error = (roundoff + (8 + largest) * kRoundoffFloat) * right +
                               (type == DEEPBENCH_F16 ? kHalfSubnormalRoundoff : 0) + 1e-37;
          CHECK(std::abs(got[size_t(i)] - right) <= (seen ? error : 0));
        }
      }
}

// Without the largest score as a reference, powers of such scores overflow.
TEST_CASE("cpu attention: large scores neither overflow nor lose the largest") {
  const std::vector<double> got =
      weights_of({3e38f, 1e38f, -3e38f, 3e38f}, 0, 4, 1.0f, DEEPBENCH_F32);
  CHECK(got[0] == 0.5);
  CHECK(got[3] == 0.5);
  CHECK(got[1] < 1e-37);
  CHECK(got[2] < 1e-37);
}

TEST_CASE("cpu attention: a sink takes its share of the weights") {
  CHECK(weights_of({0, 0}, 0, 2, 1.0f, DEEPBENCH_F32, float(std::log(2.0))) ==
        std::vector<double>{0.25, 0.25});
  CHECK(weights_of({-200, -200}, 0, 2, 1.0f, DEEPBENCH_F32, 0.0f)[0] < 1e-37);
  CHECK(weights_of({200, -200}, 0, 2, 1.0f, DEEPBENCH_F32, 0.0f)[0] == 1);
}

// Of every size of the chunks of a row, with halves below the normal ones.
TEST_CASE("cpu attention: products of stored values, of either sign") {
  for (const int64_t count : {1, 15, 16, 300, 1000}) {
    std::vector<float> a = random_scores(size_t(count), 1), b = random_scores(size_t(count), 1e-6f);
    double right = 0, halves = 0;
    std::vector<uint16_t> words_a, words_b;
    for (size_t i = 0; i < a.size(); ++i) {
      b[i] *= a[i] < 0 ? 1 : -3;
      right += double(a[i]) * double(b[i]);
      words_a.push_back(deepbench_to_half(a[i])), words_b.push_back(deepbench_to_half(b[i]));
      halves += double(deepbench_from_half(words_a[i])) * double(deepbench_from_half(words_b[i]));
    }
    CHECK(cpu::sum_of_products(a.data(), b.data(), count, DEEPBENCH_F32) ==
          doctest::Approx(right).epsilon(1e-5));
    CHECK(cpu::sum_of_products(words_a.data(), words_b.data(), count, DEEPBENCH_F16) ==
          doctest::Approx(halves).epsilon(1e-5));
  }
}

TEST_CASE("cpu attention: the gradients of a row in every type") {
  for (const deepbench_type type : {DEEPBENCH_F32, DEEPBENCH_F16, DEEPBENCH_BF16}) {
    std::vector<float> scores = {1, 2, 3, 4}, products = {0.5f, -0.25f, 1, 9};
    uint16_t p[4], ds[4];
    const bool is_float = type == DEEPBENCH_F32;
    void* const weights = is_float ? static_cast<void*>(scores.data()) : p;
    void* const gradients = is_float ? static_cast<void*>(products.data()) : ds;
    cpu::write_gradients({scores.data(), 4, 1, 3}, {2, 0.25f, products.data()}, 0.5f, type, weights,
                         gradients);
    const auto value = [&](const float* floats, const uint16_t* words, int i) {
      return is_float                ? floats[i]
             : type == DEEPBENCH_F16 ? deepbench_from_half(words[i])
                                     : deepbench_from_bfloat16(words[i]);
    };
    const double epsilon = is_float ? 1e-6 : type == DEEPBENCH_F16 ? 1e-3 : 8e-3;
    const double first = std::exp(-1), second = std::exp(-0.5);
    CHECK(value(scores.data(), p, 1) == doctest::Approx(first).epsilon(epsilon));
    CHECK(value(scores.data(), p, 2) == doctest::Approx(second).epsilon(epsilon));
    CHECK(value(products.data(), ds, 1) == doctest::Approx(-0.25 * first).epsilon(epsilon));
    CHECK(value(products.data(), ds, 2) == doctest::Approx(0.375 * second).epsilon(epsilon));
    for (const int masked : {0, 3}) {
      CHECK(value(scores.data(), p, masked) == 0);
      CHECK(value(products.data(), ds, masked) == 0);
    }
  }
}

TEST_CASE("cpu attention: no key gives weights of 0") {
  CHECK(weights_of({1, 2, 3}, 2, 2, 1.0f, DEEPBENCH_F32) == std::vector<double>{0, 0, 0});
}

}  // namespace
}  // namespace deepbench::cpu_test
