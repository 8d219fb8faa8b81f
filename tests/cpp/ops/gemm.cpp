// Tests gemm: useful work, padding rule, storage, and the reference against a plain triple loop.
#include "deepbench/ops/gemm/gemm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "../mutants/outputs.hpp"
#include "../paths.hpp"
#include "../suite_totals.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::stored;
using testing::suite_totals;
using testing::SuiteTotals;

Work work_of(const std::string& line) {
  const Problem problem = Problem::parse(line);
  return problem.operation().work(problem);
}

TEST_CASE("gemm: totals of the shipped sets") {
  const SuiteTotals training = suite_totals("training", "gemm");
  CHECK(training.problems == 160);
  CHECK(training.work.flops == 26706398187136.0);
  CHECK(training.work.bytes == 82612494144.0);
  CHECK(suite_totals("training", "gemm", "precision=half").work.bytes == 41306247072.0);
  const SuiteTotals server = suite_totals("inference_server", "gemm", "precision=int8");
  CHECK(server.problems == 75);
  CHECK(server.work.flops == 1797432942592.0);
  CHECK(server.work.bytes == 6335205184.0);
  const SuiteTotals device = suite_totals("inference_device", "gemm");
  CHECK(device.problems == 13);
  CHECK(device.work.flops == 28882870272.0);
  CHECK(device.work.bytes == 271537952.0);
}

TEST_CASE("gemm: work of one problem") {
  CHECK(work_of("gemm m=2 n=3 k=5").flops == 60);
  CHECK(work_of("gemm m=2 n=3 k=5").bytes == 4 * (10 + 15 + 2 * 6));
  CHECK(work_of("gemm m=2 n=3 k=5 precision=int8").bytes == 10 + 15 + 2 * 6 * 4);
  CHECK(work_of("gemm m=2 n=3 k=5 precision=fp8_e4m3").bytes == 10 + 15 + 2 * 6 * 2);
  // Beyond 2^53 the figure is rounded.
  CHECK(work_of("gemm m=1000003 n=1000003 k=1000003").flops ==
        doctest::Approx(2 * std::pow(1000003.0, 3)).epsilon(1e-15));
}

Gemm parse_gemm(const std::string& line) { return gemm_problem(Problem::parse(line)); }

TEST_CASE("gemm: elements are stored column-major") {
  const Gemm nn = parse_gemm("gemm m=4 n=6 k=5");
  CHECK(nn.index_a(1, 2) == 1 + 2 * 4);
  CHECK(nn.index_b(2, 3) == 2 + 3 * 5);
  CHECK(nn.rows_a() == 4);
  CHECK(nn.columns_a() == 5);
  CHECK(nn.rows_b() == 5);
  CHECK(nn.columns_b() == 6);
  const Gemm tt = parse_gemm("gemm m=4 n=6 k=5 trans_a=t trans_b=t");
  CHECK(tt.index_a(1, 2) == 2 + 1 * 5);
  CHECK(tt.index_b(2, 3) == 3 + 2 * 6);
  CHECK(tt.rows_a() == 5);
  CHECK(tt.rows_b() == 6);
}

TEST_CASE("gemm: types follow the precision") {
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=fp8_e5m2").precision.a == DEEPBENCH_E5M2);
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=fp8_e5m2").precision.b == DEEPBENCH_E4M3);
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=fp8_e5m2").precision.c == DEEPBENCH_BF16);
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=int8").b_type == DEEPBENCH_S8);
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=int8 b_type=u8").b_type == DEEPBENCH_U8);
  CHECK(parse_gemm("gemm m=1 n=1 k=1 precision=half").b_type == DEEPBENCH_F16);
}

// Returns "m n k" of the gemm with these attributes, as the original benchmark pads it.
std::string dimensions_padded_like_original(const std::string& attributes) {
  const Gemm gemm = padded_like_original(parse_gemm("gemm " + attributes));
  return std::to_string(gemm.m) + " " + std::to_string(gemm.n) + " " + std::to_string(gemm.k);
}

TEST_CASE("gemm: padding follows the original benchmark") {
  CHECK(dimensions_padded_like_original("m=35 n=700 k=2560") == "35 700 2560");
  CHECK(dimensions_padded_like_original("m=35 n=701 k=2560 precision=half") == "40 701 2560");
  CHECK(dimensions_padded_like_original("m=35 n=701 k=2561 precision=half trans_a=t") ==
        "40 701 2568");
  CHECK(dimensions_padded_like_original("m=40 n=701 k=2560 precision=half") == "40 701 2560");
  CHECK(dimensions_padded_like_original("m=40 n=701 k=2561 precision=half trans_b=t") ==
        "40 704 2561");
  CHECK(dimensions_padded_like_original("m=40 n=704 k=2561 precision=half trans_b=t") ==
        "40 704 2561");
  CHECK(dimensions_padded_like_original("m=40 n=704 k=2561 precision=half trans_a=t trans_b=t") ==
        "40 704 2568");
  CHECK(dimensions_padded_like_original("m=35 n=701 k=2561 precision=int8") == "36 701 2561");
  CHECK(dimensions_padded_like_original("m=36 n=701 k=2561 precision=int8 trans_a=t") ==
        "36 701 2561");
}

TEST_CASE("gemm: the padded work of the original benchmark's sets") {
  // 2 m n k of the padded dimensions that the original's tensor-core builds run.
  const auto total = [](const std::string& set, const std::string& precision) {
    const std::string path =
        std::string(testing::source_folder()) + "/python/deepbench/suites/" + set + "/gemm.txt";
    std::ifstream file(path);
    double flops = 0;
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#')
        flops += padded_like_original(gemm_problem(Problem::parse(line, "precision=" + precision)))
                     .flops();
    return flops;
  };
  CHECK(total("training", "half") == 26710186089472.0);
  CHECK(total("inference_server", "half") == 1797615419392.0);
  CHECK(total("inference_server", "int8") == 1797453217792.0);
  CHECK(total("inference_device", "half") == 28908675072.0);
  CHECK(total("inference_device", "int8") == 28885737472.0);
}

TEST_CASE("gemm: an epilogue is silent at none, reads a bias and leaves C out") {
  CHECK(Problem::parse("gemm m=2 n=3 k=5 epilogue=none") == Problem::parse("gemm m=2 n=3 k=5"));
  const std::string relu = "gemm m=2 n=3 k=5 trans_a=n trans_b=n precision=float epilogue=relu";
  CHECK(Problem::parse("gemm m=2 n=3 k=5 epilogue=relu").str() == relu);
  CHECK(work_of(relu).flops == 60);
  CHECK(work_of(relu).bytes == 4 * (10 + 15 + 6 + 2));
  CHECK_THROWS_WITH_AS(Problem::parse("gemm m=2 n=3 k=5 precision=int8 epilogue=bias"),
                       "epilogue=bias: products of 8-bit operands have no epilogue",
                       InvalidProblem);
}

TEST_CASE("gemm: one scale for each tensor is silent, and scales of blocks count as bytes") {
  const std::string fp8 = "gemm m=130 n=3 k=256 precision=fp8_e4m3";
  CHECK(Problem::parse(fp8 + " scaling=tensor").str() == Problem::parse(fp8).str());
  const std::string scaled = fp8 + " scaling=block128";
  CHECK(Problem::parse(scaled).text("scaling") == "block128");
  CHECK(work_of(scaled).flops == work_of(fp8).flops);
  CHECK(work_of(scaled).bytes == work_of(fp8).bytes + 4 * (2 * 2 + 3 * 2));
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      Problem::parse("gemm scaling=block128 " + text);
    } catch (const InvalidProblem& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal("m=1 n=1 k=128 precision=half") ==
        "scaling=block128: only fp8_e4m3 and fp8_e5m2 have scales");
  CHECK(refusal("m=1 n=1 k=192 precision=fp8_e4m3") ==
        "scaling=block128: k must be a multiple of 128, not 192");
  CHECK(refusal("m=1 n=1 k=128 batch=2 precision=fp8_e5m2") ==
        "scaling=block128: a batch has no scales of blocks");
}

// One output of a product with scales of blocks by the definition.
double scaled_element(const Gemm& gemm, const KernelConditions& conditions, uint64_t index) {
  const bool exact = conditions.inputs == "integers";
  const auto element = [&](deepbench_type type, uint32_t stream, uint64_t place) -> double {
    if (exact)
      return deepbench_small_integer(gemm.integers(stream), conditions.seed, stream, place);
    return deepbench_element(type, conditions.seed, stream, place);
  };
  const auto scale = [&](uint32_t stream, int64_t block) {
    return deepbench_small_integer({1u << 28, exact ? 1u : 7u}, conditions.seed, stream,
                                   uint64_t(block));
  };
  const int64_t i = int64_t(index) % gemm.m, j = int64_t(index) / gemm.m;
  double sum = element(gemm.precision.c, 2, index);
  for (int64_t l = 0; l < gemm.k; ++l)
    sum += element(gemm.precision.a, 0, gemm.index_a(i, l)) *
           element(gemm.precision.b, 1, gemm.index_b(l, j)) *
           scale(3, l / 128 + i / 128 * (gemm.k / 128)) * scale(4, j + l / 128 * gemm.n);
  return sum;
}

// In exact sums and in others.
TEST_CASE("gemm: every block of 128 products counts times its two scales") {
  const Problem problem =
      Problem::parse("gemm m=131 n=3 k=256 precision=fp8_e4m3 scaling=block128 trans_a=t");
  for (const std::string inputs : {"uniform", "integers"}) {
    KernelConditions conditions;
    conditions.inputs = inputs;
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    REQUIRE(expected.indices.size() == 131 * 3);
    for (size_t x = 0; x < expected.indices.size(); ++x) {
      const double sum = scaled_element(gemm_problem(problem), conditions, expected.indices[x]);
      CHECK(expected.values[x] == doctest::Approx(sum).epsilon(1e-12));
      CHECK((expected.bounds[x] == 0) == (inputs == "integers"));
    }
  }
}

// Outputs that are rounded correctly are within the bounds, which are of the size of their errors.
TEST_CASE("gemm: a projection counts the scales of both operands in every transposition") {
  for (const std::string trans :
       {"trans_a=n trans_b=n", "trans_a=t trans_b=n", "trans_a=n trans_b=t", "trans_a=t trans_b=t"})
    for (const std::string inputs : {"uniform", "integers"}) {
      const Problem problem =
          Problem::parse("gemm m=300 n=131 k=512 precision=fp8_e5m2 scaling=block128 " + trans);
      CAPTURE(trans);
      CAPTURE(inputs);
      KernelConditions conditions;
      conditions.inputs = inputs;
      const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
      REQUIRE(expected.projections.size() == 300);
      double largest = 0;
      for (const uint64_t i : {0, 127, 128, 299}) {
        double exact = 0, rounded = 0;
        for (uint64_t j = 0; j < 131; ++j) {
          const double weight = deepbench_weight(expected.projection_seed, j);
          const double sum = scaled_element(gemm_problem(problem), conditions, i + j * 300);
          exact += sum * weight, rounded += stored(DEEPBENCH_BF16, sum) * weight;
        }
        CHECK(expected.projections[i] == doctest::Approx(exact).epsilon(1e-9));
        const double error = std::abs(rounded - expected.projections[i]);
        CHECK(error <= expected.projection_bounds[i]);
        if (inputs == "integers") CHECK(expected.projection_bounds[i] < 1e-3);
        largest = std::max(largest, error / expected.projection_bounds[i]);
      }
      CHECK((inputs == "integers" ? largest == 0 : largest > 0.02));
    }
}

TEST_CASE("gemm: whole rows and columns are compared once, and always without a projection") {
  const std::string line = "gemm m=300 n=400 k=500 precision=half";
  const auto compared = [](const Problem& problem, const std::string& inputs, bool is_repeated) {
    KernelConditions conditions;
    conditions.inputs = inputs;
    conditions.is_repeated = is_repeated;
    return problem.operation().expected_output(problem, conditions).indices.size();
  };
  const Problem linear = Problem::parse(line);
  CHECK(compared(linear, "uniform", false) > compared(linear, "uniform", true) + 2 * 250);
  CHECK(compared(linear, "integers", false) == compared(linear, "uniform", true));
  const Problem relu = Problem::parse(line + " epilogue=relu");
  CHECK(compared(relu, "uniform", false) == compared(relu, "uniform", true));
}

// With another seed an output lies in the grid, in a whole row or in a whole column.
TEST_CASE("gemm: an output has the same value and bound in whatever part it is compared") {
  for (const std::string parameters :
       {"precision=half", "precision=float trans_a=t", "precision=bfloat16 trans_b=t",
        "precision=half trans_a=t trans_b=t", "precision=half epilogue=bias",
        "precision=half batch=3", "precision=fp8_e4m3 scaling=block128 trans_a=t"}) {
    const Problem problem = Problem::parse("gemm m=90 n=80 k=3072 " + parameters);
    CAPTURE(parameters);
    std::map<uint64_t, std::array<double, 3>> known;
    size_t again = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      KernelConditions conditions;
      conditions.verification_seed = seed;
      const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
      std::set<uint64_t> compared(expected.indices.begin(), expected.indices.end());
      CHECK(compared.size() == expected.indices.size());
      int wrong = 0;
      for (size_t x = 0; x < expected.indices.size(); ++x) {
        const std::array<double, 3> is = {expected.values[x], expected.bounds[x],
                                          expected.initial_values[x]};
        const auto [was, is_new] = known.emplace(expected.indices[x], is);
        again += !is_new;
        wrong += is[0] != doctest::Approx(was->second[0]).epsilon(1e-12);
        wrong += is[1] != doctest::Approx(was->second[1]).epsilon(1e-12);
        wrong += is[2] != was->second[2];
      }
      CHECK(wrong == 0);
    }
    CHECK(again > 3000);
  }
}

TEST_CASE("gemm: a batch of one is silent, and others multiply the work") {
  CHECK(Problem::parse("gemm m=2 n=3 k=5 batch=1").str() ==
        "gemm m=2 n=3 k=5 trans_a=n trans_b=n precision=float");
  CHECK(Problem::parse("gemm m=2 n=3 k=5 batch=1") == Problem::parse("gemm m=2 n=3 k=5"));
  CHECK(parse_gemm("gemm m=2 n=3 k=5").batch == 1);
  const std::string batch = "gemm m=2 n=3 k=5 trans_a=n trans_b=n precision=float batch=7";
  CHECK(Problem::parse("gemm batch=7 m=2 n=3 k=5").str() == batch);
  CHECK(Problem::parse(batch).str() == batch);
  CHECK(work_of(batch).flops == 7 * 60);
  CHECK(work_of(batch).bytes == 7 * 4 * (10 + 15 + 2 * 6));
  const auto message = [](const std::string& text) {
    try {
      Problem::parse(text);
    } catch (const InvalidProblem& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("gemm m=2 n=3 k=5 batch=0") == "batch=0: must be at least 1");
  CHECK(message("gemm m=2 n=3 k=5 batch=1048577") == "batch=1048577: must be at most 1048576");
  CHECK(message("gemm m=1000000 n=1000000 k=1000000 batch=1000000").find("2 m n k batch") !=
        std::string::npos);
}

// One output by the definition, from the elements of the generator.
double expected_element(const Gemm& gemm, const KernelConditions& conditions, uint64_t index,
                        deepbench_type b) {
  const auto i = static_cast<int64_t>(index) % gemm.m;
  const auto j = static_cast<int64_t>(index) / gemm.m % gemm.n;
  const auto item = static_cast<int64_t>(index) / gemm.m / gemm.n;
  double sum = conditions.beta * deepbench_element(gemm.precision.c, conditions.seed, 2, index);
  for (int64_t l = 0; l < gemm.k; ++l) {
    const int64_t at_a = gemm.trans_a ? l + i * gemm.k : i + l * gemm.m;
    const int64_t at_b = gemm.trans_b ? j + l * gemm.n : l + j * gemm.k;
    sum += deepbench_element(gemm.precision.a, conditions.seed, 0,
                             uint64_t(at_a + item * gemm.m * gemm.k)) *
           deepbench_element(b, conditions.seed, 1, uint64_t(at_b + item * gemm.k * gemm.n));
  }
  return sum;
}

TEST_CASE("gemm: the reference of small problems equals the definition for every output") {
  for (const std::string precision :
       {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8"}) {
    for (const std::string trans : {"trans_a=n trans_b=n", "trans_a=t trans_b=n",
                                    "trans_a=n trans_b=t", "trans_a=t trans_b=t"}) {
      const Problem problem =
          Problem::parse("gemm m=7 n=5 k=9 precision=" + precision + " " + trans);
      CAPTURE(problem.str());
      KernelConditions conditions;
      conditions.seed = 3;
      const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
      CHECK(expected.outputs == 35);
      CHECK(expected.coverage == "all 35 outputs");
      REQUIRE(expected.indices.size() == 35);
      const Gemm gemm = gemm_problem(problem);
      for (size_t i = 0; i < 35; ++i) {
        const double value = expected_element(gemm, conditions, expected.indices[i], gemm.b_type);
        CHECK(expected.values[i] == doctest::Approx(value).epsilon(1e-14));
        if (precision == "int8") {
          CHECK(expected.bounds[i] == 0);
        } else {
          CHECK(expected.bounds[i] > 0);
          CHECK(expected.bounds[i] < 0.5);
        }
      }
      std::vector<uint64_t> indices = expected.indices;
      std::sort(indices.begin(), indices.end());
      for (uint64_t i = 0; i < 35; ++i) CHECK(indices[i] == i);
    }
  }
}

TEST_CASE("gemm: the reference of an epilogue equals the definition, and bias has projections") {
  for (const std::string epilogue : {"bias", "relu", "gelu"})
    for (const std::string size : {"m=7 n=5 k=9 batch=2", "m=300 n=257 k=240"}) {
      const Problem problem =
          Problem::parse("gemm " + size + " precision=half epilogue=" + epilogue);
      CAPTURE(problem.str());
      const Gemm gemm = gemm_problem(problem);
      KernelConditions conditions;
      conditions.seed = 3;
      const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
      const auto after = [&](uint64_t index) {
        KernelConditions without_c = conditions;
        without_c.beta = 0;
        const double sum = expected_element(gemm, without_c, index, gemm.b_type) +
                           deepbench_element(DEEPBENCH_F16, 3, 2, index % uint64_t(gemm.m));
        if (epilogue == "bias") return sum;
        return epilogue == "relu" ? std::max(0.0, sum)
                                  : sum / 2 *
                                        (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                                                       (sum + 0.044715 * std::pow(sum, 3))));
      };
      for (size_t i = 0; i < expected.indices.size(); i += 1 + expected.indices.size() / 100) {
        CHECK(expected.values[i] == doctest::Approx(after(expected.indices[i])).epsilon(1e-12));
        CHECK(expected.bounds[i] < 0.03);
      }
      CHECK_FALSE(expected.growth.has_value());
      CHECK(expected.projections.empty() == (gemm.m == 7 || epilogue != "bias"));
      if (gemm.m == 7) continue;
      CHECK(expected.indices.size() >= (epilogue == "bias" ? 256 : 200 * 200));
      for (size_t i = 0; i < expected.projections.size(); i += 150) {
        double sum = 0;
        for (uint64_t j = 0; j < 257; ++j)
          sum += after(i + j * 300) * deepbench_weight(expected.projection_seed, j);
        CHECK(std::abs(expected.projections[i] - sum) <= expected.projection_bounds[i]);
      }
    }
}

// One output as a matrix unit computes it that adds 16 products at once and cuts off what the
// partial sum, of 24 bits, does not hold.
double cut_off_element(const Gemm& gemm, const KernelConditions& conditions, uint64_t index) {
  constexpr int64_t kAtOnce = 16;
  const int64_t i = int64_t(index) % gemm.m, j = int64_t(index) / gemm.m;
  float sum = 0;
  for (int64_t first = 0; first < gemm.k; first += kAtOnce) {
    double exact = sum;
    for (int64_t l = first; l < std::min(first + kAtOnce, gemm.k); ++l)
      exact += deepbench_element(gemm.precision.a, conditions.seed, 0, uint64_t(i + l * gemm.m)) *
               deepbench_element(gemm.b_type, conditions.seed, 1, uint64_t(l + j * gemm.k));
    sum = float(exact);
    if (std::abs(double(sum)) > std::abs(exact)) sum = std::nextafter(sum, 0.0f);
  }
  const double c = deepbench_element(gemm.precision.c, conditions.seed, 2, index);
  return stored(gemm.precision.c, double(sum) + conditions.beta * c);
}

TEST_CASE("gemm: long sums that a matrix unit cuts off are within the bounds") {
  for (const std::string precision : {"half", "bfloat16"}) {
    const Problem problem = Problem::parse("gemm m=8 n=8 k=131072 precision=" + precision);
    const Gemm gemm = gemm_problem(problem);
    const KernelConditions conditions;
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    REQUIRE(expected.indices.size() == 64);
    for (size_t i = 0; i < 64; ++i) {
      const double value = cut_off_element(gemm, conditions, expected.indices[i]);
      CHECK(std::abs(value - expected.values[i]) <= expected.bounds[i]);
      CHECK(expected.bounds[i] < (precision == "half" ? 1 : 2));
    }
  }
}

TEST_CASE("gemm: the reference follows the kernel's conditions") {
  const Problem problem = Problem::parse("gemm m=3 n=4 k=8 precision=int8");
  const Gemm gemm = gemm_problem(problem);
  KernelConditions conditions;
  conditions.beta = 0;
  conditions.fill = {{"b", "s7"}};
  ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  for (size_t i = 0; i < expected.values.size(); ++i)
    CHECK(expected.values[i] ==
          expected_element(gemm, conditions, expected.indices[i], DEEPBENCH_S7));
  conditions = {};
  conditions.inputs = "ones";
  for (double value : problem.operation().expected_output(problem, conditions).values)
    CHECK(value == 9);
  conditions.inputs = "zeros";
  for (double value : problem.operation().expected_output(problem, conditions).values)
    CHECK(value == 0);
}

TEST_CASE("the compared places and the projections follow from the seed of verification alone") {
  for (const std::string text :
       {"gemm m=900 n=700 k=80 precision=half", "memory kind=copy bytes=400000",
        "conv w=30 h=30 c=64 n=4 k=64 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1",
        "sparse_gemm m=900 n=700 k=800 sparsity=0.9"}) {
    CAPTURE(text);
    const Problem problem = Problem::parse(text);
    const auto expect = [&](uint64_t seed) {
      KernelConditions conditions;
      conditions.verification_seed = seed;
      return problem.operation().expected_output(problem, conditions);
    };
    const ExpectedOutput one = expect(1), again = expect(1), other = expect(2);
    CHECK(one.indices == again.indices);
    CHECK(one.indices != other.indices);
    CHECK(one.projection_seed == 1);
    CHECK(one.projections == again.projections);
    CHECK(one.projections != other.projections);
    if (problem.op() != "conv") CHECK(one.indices.size() == other.indices.size());
    CHECK(one.slope.has_value() == (problem.op() == "gemm"));
    if (one.slope) CHECK(one.slope->elements.indices != other.slope->elements.indices);
  }
}

TEST_CASE("gemm: the kernel's rounding changes the bounds, not the values") {
  const auto expect = [](const std::string& text, const std::string& accumulator) {
    const Problem problem = Problem::parse(text);
    KernelConditions conditions;
    conditions.accumulator = accumulator;
    return problem.operation().expected_output(problem, conditions);
  };
  for (const auto& [text, accumulator] :
       {std::pair("gemm m=3 n=4 k=8 precision=half", "rounded_product"),
        std::pair("gemm m=3 n=4 k=8 precision=fp8_e4m3", "fp22"),
        std::pair("gemm m=900 n=700 k=80 precision=bfloat16", "rounded_product")}) {
    CAPTURE(text);
    const ExpectedOutput usual = expect(text, ""), wider = expect(text, accumulator);
    CHECK(wider.values == usual.values);
    CHECK(wider.projections == usual.projections);
    for (size_t i = 0; i < usual.bounds.size(); ++i) {
      CHECK(wider.bounds[i] > usual.bounds[i]);
      CHECK(wider.bounds[i] < 0.1);  // a missing product is detected nevertheless
    }
    for (size_t i = 0; i < usual.projection_bounds.size(); ++i)
      CHECK(wider.projection_bounds[i] > usual.projection_bounds[i]);
  }
}

TEST_CASE("gemm: outputs of equal operands are rounded alike, within the bounds of projections") {
  const Problem problem = Problem::parse("gemm m=301 n=257 k=1761 precision=bfloat16");
  KernelConditions conditions;
  conditions.inputs = "ones";
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  CHECK(expected.values[0] == 1762);
  constexpr double kStored = 1760;  // bfloat16 has multiples of 8 there
  double weights = 0;
  for (uint64_t j = 0; j < 257; ++j) weights += deepbench_weight(expected.projection_seed, j);
  CHECK(std::abs(kStored * weights - expected.projections[0]) <= expected.projection_bounds[0]);
  CHECK(expected.projection_bounds[0] < 0.02 * 1762 * std::sqrt(257));
}

TEST_CASE("gemm: the largest of correctly rounded outputs are within the bounds of projections") {
  // With one column a projection is a single output times its weight.
  KernelConditions conditions;
  while (std::abs(deepbench_weight(conditions.verification_seed, 0)) < 0.9)
    ++conditions.verification_seed;
  for (const std::string precision : {"half", "bfloat16", "fp8_e4m3 scaling=block128"}) {
    const Problem problem = Problem::parse("gemm m=262144 n=1 k=128 precision=" + precision);
    const deepbench_type type = gemm_problem(problem).precision.c;
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    const double weight = deepbench_weight(expected.projection_seed, 0);
    REQUIRE(std::abs(weight) >= 0.9);
    REQUIRE(expected.projections.size() == 262144);
    double largest = 0;
    for (size_t i = 0; i < expected.projections.size(); ++i) {
      const double rounded = stored(type, expected.projections[i] / weight);
      const double error = std::abs(rounded * weight - expected.projections[i]);
      largest = std::max(largest, error / expected.projection_bounds[i]);
    }
    CHECK(largest <= 1);
    CHECK(largest > 0.25);
  }
}

TEST_CASE("gemm: larger problems are sampled at corners and edges, and projected") {
  for (const std::string trans : {"trans_a=n trans_b=n", "trans_a=t trans_b=t"}) {
    const Problem problem = Problem::parse("gemm m=300 n=257 k=240 precision=int8 " + trans);
    const ExpectedOutput expected = problem.operation().expected_output(problem, {});
    const Gemm gemm = gemm_problem(problem);
    CHECK(expected.outputs == 300 * 257);
    CHECK(expected.indices.size() >= 256);
    CHECK(expected.indices.size() < 300 * 257);
    for (uint64_t corner : {0, 299, 300 * 256, 300 * 257 - 1})
      CHECK(std::count(expected.indices.begin(), expected.indices.end(), corner) == 1);
    for (size_t i = 0; i < expected.indices.size(); i += 37)
      CHECK(expected.values[i] == expected_element(gemm, {}, expected.indices[i], DEEPBENCH_S8));

    // The projection by its definition, computed from every output.
    REQUIRE(expected.projection_rows == 300);
    REQUIRE(expected.projections.size() == 300);
    for (uint64_t i : {0, 1, 150, 299}) {
      double sum = 0;
      for (uint64_t j = 0; j < 257; ++j)
        sum += expected_element(gemm, {}, i + j * 300, DEEPBENCH_S8) *
               deepbench_weight(expected.projection_seed, j);
      CHECK(std::abs(expected.projections[i] - sum) <= expected.projection_bounds[i]);
      // One integer that is wrong by one moves the projection by more than its bound, unless its
      // weight is tiny.
      CHECK(expected.projection_bounds[i] < 1e-3);
    }
  }
}

TEST_CASE("gemm: every product of a batch is sampled, and a projection adds up all of them") {
  for (const std::string trans : {"trans_a=n trans_b=n", "trans_a=t trans_b=t"}) {
    const Problem small = Problem::parse("gemm m=5 n=3 k=7 batch=4 precision=int8 " + trans);
    const ExpectedOutput all = small.operation().expected_output(small, {});
    CHECK(all.coverage == "all 60 outputs");
    REQUIRE(all.indices.size() == 60);
    for (size_t i = 0; i < 60; ++i)
      CHECK(all.values[i] ==
            expected_element(gemm_problem(small), {}, all.indices[i], DEEPBENCH_S8));

    const Problem problem = Problem::parse("gemm m=90 n=40 k=180 batch=30 precision=int8 " + trans);
    const Gemm gemm = gemm_problem(problem);
    const ExpectedOutput expected = problem.operation().expected_output(problem, {});
    CHECK(expected.outputs == 90 * 40 * 30);
    CHECK(expected.indices.size() < expected.outputs / 4);
    for (uint64_t item = 0; item < 30; ++item)
      for (const uint64_t corner : {0, 89, 90 * 39, 90 * 40 - 1})
        CHECK(std::count(expected.indices.begin(), expected.indices.end(),
                         item * 90 * 40 + corner) == 1);
    for (size_t i = 0; i < expected.indices.size(); i += 371)
      CHECK(expected.values[i] == expected_element(gemm, {}, expected.indices[i], DEEPBENCH_S8));
    REQUIRE(expected.projection_rows == 90);
    for (const uint64_t i : {0, 89}) {
      double sum = 0;
      for (uint64_t j = 0; j < 40 * 30; ++j)
        sum += expected_element(gemm, {}, i + j * 90, DEEPBENCH_S8) *
               deepbench_weight(expected.projection_seed, j);
      CHECK(std::abs(expected.projections[i] - sum) <= expected.projection_bounds[i]);
      CHECK(expected.projection_bounds[i] < 1e-3);
    }
  }
}

}  // namespace
}  // namespace deepbench
