// Mutants of norm, which has several outputs: wrong kernels that verification finds whatever its
// seed, and right ones, which pass.

// Tests are compiled with little optimization, in which these loops would take a minute.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include "deepbench/ops/norm/norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/run/row/verify.hpp"
#include "mutant_kernel.hpp"
#include "seeds.hpp"

namespace deepbench {
namespace {

using testing::MutantKernel;
using testing::Outputs;

// A normalization in plain loops, which makes an error; "": none.
class PlainNorm {
 public:
  PlainNorm(const Norm& norm, std::string error) : norm_(norm), error_(std::move(error)) {
    for (int i = 0; i < kNormParts; ++i)
      parts_[i].values.resize(size_t(norm.part_elements(NormPart(i)))),
          parts_[i].type = norm.type(NormPart(i));
    fill(NormPart::kX, Norm::kXValues);
    fill(NormPart::kScale, Norm::kScaleValues);
    fill(NormPart::kShift, Norm::kShiftValues);
    fill(NormPart::kDy, Norm::kDyValues);
    if (norm.has_running_statistics()) {
      fill(NormPart::kMean, Norm::kMeanValues);
      fill(NormPart::kSpread, Norm::kVarianceValues);
    }
    for (int64_t set = 0; set < norm.sets(); ++set)
      norm.is_backward() ? differentiate(set) : normalize(set);
    spoil_outputs();
  }

  std::vector<Outputs> outputs() {
    std::vector<Outputs> all;
    for (const NormPart part : norm_.outputs()) {
      all.push_back(parts_[int(part)]);
      for (double& value : all.back().values) value = testing::stored(all.back().type, value);
    }
    return all;
  }

 private:
  struct Statistics {
    double mean = 0, deviation = 0;
  };

  std::vector<double>& values(NormPart part) { return parts_[int(part)].values; }
  void fill(NormPart part, const NormValues& from) {
    std::vector<double>& to = values(part);
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = from.element(deepbench_uniform(1, from.stream, i), norm_.type(part));
  }
  bool is(const char* error) const { return error_ == error; }
  size_t place(int64_t set, int64_t member) const {
    return size_t(norm_.kind == NormKind::kBatch ? set + member * norm_.columns
                                                 : set * norm_.set_elements() + member);
  }

  Statistics statistics(int64_t set) {
    const int64_t n = norm_.set_elements() - (is("the last element is not counted") ? 1 : 0);
    const double epsilon = is("no epsilon") ? 0 : is("epsilon 1.1e-5") ? 1.1e-5 : 1e-5;
    Statistics of;
    double variance = 0;
    if (norm_.has_running_statistics()) {
      of.mean = values(NormPart::kMean)[size_t(set)];
      variance = values(NormPart::kSpread)[size_t(set)];
    } else {
      const std::vector<double>& x = values(NormPart::kX);
      if (norm_.has_mean() && !is("the mean is not subtracted"))
        for (int64_t i = 0; i < n; ++i) of.mean += x[place(set, i)] / double(n);
      for (int64_t i = 0; i < n; ++i)
        variance += std::pow(x[place(set, i)] - of.mean, 2) / double(is("n - 1") ? n - 1 : n);
    }
    of.deviation = 1 / std::sqrt(variance + epsilon);
    const deepbench_type narrow =
        norm_.precision.c == DEEPBENCH_BF16 ? DEEPBENCH_BF16 : DEEPBENCH_F16;
    if (is("statistics in 16 bits"))
      of = {testing::stored(narrow, of.mean), testing::stored(narrow, of.deviation)};
    return of;
  }

  void normalize(int64_t set) {
    const Statistics of = statistics(set);
    if (norm_.phase == NormPhase::kTraining) {
      if (norm_.has_mean()) values(NormPart::kMean)[size_t(set)] = of.mean;
      values(NormPart::kSpread)[size_t(set)] = of.deviation;
    }
    for (int64_t i = 0; i < norm_.set_elements(); ++i) {
      const size_t at = place(set, i), column = at % size_t(norm_.columns);
      const size_t scaled =
          is("scale of the next column") ? (column + 1) % size_t(norm_.columns) : column;
      double y =
          values(NormPart::kScale)[scaled] * (values(NormPart::kX)[at] - of.mean) * of.deviation;
      if (norm_.has_mean() && !is("no shift")) y += values(NormPart::kShift)[column];
      values(NormPart::kY)[at] = y;
    }
  }

  void differentiate(int64_t set) {
    const Statistics of = statistics(set);
    const int64_t n = norm_.set_elements();
    const double size = is("means are sums") ? 1 : double(n);
    std::vector<double> z(static_cast<size_t>(n)), h(z);
    double mean_h = 0, mean_hz = 0;
    for (int64_t i = 0; i < n; ++i) {
      const size_t at = place(set, i), column = at % size_t(norm_.columns);
      const double dy = values(NormPart::kDy)[at];
      z[size_t(i)] = (values(NormPart::kX)[at] - of.mean) * of.deviation;
      h[size_t(i)] = values(NormPart::kScale)[column] * dy;
      mean_h += h[size_t(i)] / size, mean_hz += h[size_t(i)] * z[size_t(i)] / size;
      add_to_column(at, dy, z[size_t(i)]);
    }
    if (!norm_.has_mean() || is("mean of h is ignored")) mean_h = 0;
    if (is("mean of h z is ignored")) mean_hz = 0;
    for (int64_t i = 0; i < n; ++i)
      values(NormPart::kDx)[place(set, i)] =
          of.deviation * (h[size_t(i)] - mean_h - z[size_t(i)] * mean_hz);
  }

  void add_to_column(size_t at, double dy, double z) {
    const auto columns = size_t(norm_.columns), rows = size_t(norm_.rows);
    if (is("column sums over half of the rows") && at / columns >= rows / 2) return;
    if (is("column sums without the last row") && at / columns == rows - 1) return;
    values(NormPart::kDscale)[at % columns] += dy * z;
    if (norm_.has_mean()) values(NormPart::kDshift)[at % columns] += dy;
  }

  void spoil_outputs() {
    Outputs& first = parts_[int(norm_.outputs().front())];
    const auto columns = size_t(norm_.columns), row = size_t(norm_.rows) * 5 / 8;
    if (is("a row is not written") || is("an element is not written")) {
      first.is_written.assign(first.values.size(), 1);
      const size_t end = is("a row is not written") ? (row + 1) * columns : row * columns + 1;
      for (size_t i = row * columns; i < end; ++i) first.is_written[i] = 0;
    }
    if (is("a row is zero"))
      for (size_t i = row * columns; i < (row + 1) * columns; ++i) first.values[i] = 0;
    if (is("a column is zero"))
      for (size_t i = columns * 5 / 8; i < first.values.size(); i += columns) first.values[i] = 0;
    if (is("a factor of 0.995"))
      for (double& value : first.values) value *= 0.995;
    if (is("the last statistic is not written")) {
      Outputs& spread = parts_[int(NormPart::kSpread)];
      spread.is_written.assign(spread.values.size(), 1);
      spread.is_written.back() = 0;
    }
  }

  const Norm norm_;
  const std::string error_;
  Outputs parts_[kNormParts];
};

// The reason for which verification rejects the kernel; empty: it accepts it.
std::string finding(const Problem& problem, const std::string& error, uint64_t seed) {
  MutantKernel::next = {PlainNorm(norm_problem(problem), error).outputs()};
  Kernel kernel = testing::prepare_kernel<MutantKernel>(problem);
  Verifier verifier(problem, kernel.facts(), 1, "uniform", seed, [&]() -> Kernel { throw 0; });
  Verifier::reset_outputs(kernel);
  kernel.time_batch(1);
  verifier.check(kernel, "once");
  return verifier.result().reason;
}

using Texts = std::vector<std::string>;
using Seeds = std::vector<uint64_t>;

// `seeds`: those that errors are tried with. Where all outputs are compared, one is enough.
void check_found(const std::string& line, const Texts& errors, const Seeds& seeds = {1}) {
  CAPTURE(line);
  const Problem problem = Problem::parse(line);
  for (const uint64_t seed : testing::verification_seeds()) CHECK(finding(problem, "", seed) == "");
  for (const std::string& error : errors) {
    CAPTURE(error);
    for (const uint64_t seed : seeds) CHECK(finding(problem, error, seed) != "");
  }
}

// Of problems that are compared in full.
void check_found(const Texts& kinds, const std::string& phase, const Texts& errors) {
  for (const std::string& kind : kinds)
    for (const std::string precision : {"float", "half", "bfloat16"})
      check_found(
          "norm kind=" + kind + " rows=32 columns=128 phase=" + phase + " precision=" + precision,
          errors);
}

const Texts kForward = {
    "no epsilon",    "epsilon 1.1e-5",    "a row is not written",    "an element is not written",
    "a row is zero", "a factor of 0.995", "scale of the next column"};

Texts with(Texts all, const Texts& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_CASE("norm: verification finds wrong kernels that train and infer") {
  const Texts computed =
      with(kForward, {"n - 1", "statistics in 16 bits", "the last element is not counted"});
  const Texts centered = {"no shift", "the mean is not subtracted"};
  check_found({"batch", "layer", "group groups=4"}, "training", with(computed, centered));
  check_found({"rms"}, "training", with(computed, {"the last statistic is not written"}));
  check_found({"layer"}, "inference", with(computed, centered));
  check_found({"batch"}, "inference", with(kForward, {"no shift", "statistics in 16 bits"}));
}

TEST_CASE("norm: verification finds wrong gradients") {
  const Texts errors = {"column sums over half of the rows",
                        "column sums without the last row",
                        "mean of h z is ignored",
                        "means are sums",
                        "a row is not written",
                        "a row is zero",
                        "a factor of 0.995",
                        "statistics in 16 bits",
                        "n - 1",
                        "no epsilon"};
  check_found({"batch", "layer", "group groups=4"}, "bwd", with(errors, {"mean of h is ignored"}));
  check_found({"rms"}, "bwd", errors);
}

TEST_CASE("norm: verification finds wrong kernels of problems that it samples") {
  for (const std::string kind : {"batch", "layer", "rms", "group groups=4"})
    check_found("norm kind=" + kind + " rows=150 columns=440 precision=half phase=training",
                {"n - 1", "a row is zero", "statistics in 16 bits"}, testing::verification_seeds());
  for (const std::string kind : {"batch", "layer"})
    check_found("norm kind=" + kind + " rows=150 columns=440 precision=bfloat16 phase=bwd",
                {"a row is zero", "column sums without the last row"},
                testing::verification_seeds());
}

// Each of many rows is a small part of a projection, and of many columns few are sampled sets.
TEST_CASE("norm: verification finds a wrong row of many, and a wrong column") {
  check_found("norm kind=layer rows=3000 columns=64 precision=bfloat16 phase=inference",
              {"a row is zero", "a column is zero"}, testing::verification_seeds());
  check_found("norm kind=batch rows=64 columns=3000 precision=bfloat16 phase=training",
              {"a row is zero", "a column is zero"}, testing::verification_seeds());
}

}  // namespace
}  // namespace deepbench
