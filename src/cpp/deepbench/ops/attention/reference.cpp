// The float64 reference of attention: all outputs of small problems, otherwise those of sampled
// queries of every head, the first and the last included. With Q = 0, the inputs "integers", sums
// of values from the first key on give every output, and a projection covers them all.
//
// Bound of one output o = sum of p v over the keys, where u is the roundoff of the precision, u32
// that of sums, and |.| a root of a sum of squares over the keys, because the errors of different
// keys are independent:
//   the score s of a key     e = scale (error_of_sums(dim) |q k| + 4 input_roundoff |q k|)
//                                + 4 u32 (1 + |s| + |s - largest|)
//   the weight p = exp(s)/l  is rounded to the precision by r = u p, in half at least by half of
//                            the last place of its subnormals
//   o                        4 |r v| + 4 |p e (v - o)| + error_of_sums(keys) (|(p v, o)| + o)
//                            + (sum of r / sum of p + 8 u32) o + u (o + all of these)
// The sum of r is the error of a row whose weights are equal and therefore rounded alike. With
// Q = 0 all weights are, and the terms 4 |.| do not arise. A sink z takes part in l; its
// exponential's error, e of z times its share of l, is one of all weights.
#include "deepbench/ops/attention/reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/simd_level.hpp"
#include "deepbench/ops/attention/reference_rows.hpp"

namespace deepbench {
namespace {

constexpr int64_t kMinPart = 1 << 16;  // elements for which a further thread pays off
// Weights of a projection are uniform in [-1, 1): sums of six times the root of the squared bounds
// are more than ten standard deviations.
constexpr double kDeviations = 6;
constexpr double kLargestInteger = 7;  // of V in the inputs "integers"

// The factors of the values in the sums over the keys.
struct KeyFactors {
  double p;                    // factor of the value
  double random, of_centered;  // factors of v^2 and (v - o)^2 in the square of the random error
};

// The sums over the keys of one query, for every element of the values.
struct ValueSums {
  explicit ValueSums(int64_t dim)
      : output(size_t(dim)), squares(size_t(dim)), centered(size_t(dim)) {}
  std::vector<double> output, squares, centered;  // sums of p v, random v^2 and of_centered v
  double of_centered = 0;
};

void add_values(const float* values, int64_t dim, const KeyFactors* factors, int64_t keys,
                ValueSums& sums) {
  double* const output = sums.output.data();
  double* const squares = sums.squares.data();
  double* const centered = sums.centered.data();
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    for (int64_t key = 0; key < keys; ++key) {
      const KeyFactors w = factors[key];
      const float* const row = values + key * dim;
      for (int64_t d = 0; d < dim; ++d) {
        const double v = row[d], weighted = w.of_centered * v;
        output[d] += w.p * v;
        squares[d] += (w.random * v + weighted) * v;
        centered[d] += weighted;
      }
    }
  });
  for (int64_t key = 0; key < keys; ++key) sums.of_centered += factors[key].of_centered;
}

class AttentionReference {
 public:
  AttentionReference(const Attention& attention, const KernelConditions& conditions)
      : rows_(attention, conditions),
        a_(rows_.attention()),
        error_of_output_(error_of_sums(double(a_.seq_kv), a_.precision)) {}

  ExpectedOutput expected_output() {
    ExpectedOutput expected;
    expected.outputs = uint64_t(a_.elements(AttentionPart::kO));
    compare_queries(expected);
    if (rows_.are_integers()) project_integers(expected);
    if (rows_.are_uniform()) add_slope(expected);
    return expected;
  }

 private:
  // ---- compared queries -------------------------------------------------------------------------

  void compare_queries(ExpectedOutput& expected) {
    std::vector<float> keys, values;
    for (const int64_t product : rows_.products()) {
      rows_.read_product(Attention::kStreamK, product, a_.dim, keys);
      rows_.read_product(Attention::kStreamV, product, a_.dim_v, values);
      compare_product(rows_.rows_of(product), keys, values, expected);
    }
    const size_t compared = expected.indices.size();
    expected.coverage = compared == expected.outputs
                            ? "all " + std::to_string(compared) + " outputs"
                            : std::to_string(compared) + " of " + std::to_string(expected.outputs) +
                                  " outputs, of " + std::to_string(compared / size_t(a_.dim_v)) +
                                  " queries";
  }

  void compare_product(const std::vector<int64_t>& rows, const std::vector<float>& keys,
                       const std::vector<float>& values, ExpectedElements& expected) const {
    const size_t first = expected.indices.size();
    expected.resize(first + rows.size() * size_t(a_.dim_v));
    const auto min_part =
        int64_t(1 + double(kMinPart) / (double(a_.seq_kv) * double(a_.dim + a_.dim_v)));
    parallel_for(int64_t(rows.size()), min_part, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        compare_row(rows[size_t(i)], keys, values, first + size_t(i * a_.dim_v), expected);
    });
  }

  void compare_row(int64_t row, const std::vector<float>& keys, const std::vector<float>& values,
                   size_t first, ExpectedElements& expected) const {
    const Attention::Keys seen = rows_.keys_of(row);
    const RowWeights weights = rows_.weights(row, keys);
    const std::vector<KeyFactors> factors = factors_of(weights);
    ValueSums sums(a_.dim_v);
    add_values(values.data() + seen.begin * a_.dim_v, a_.dim_v, factors.data(), seen.count(), sums);
    const double common = weights.common_error() + rows_.common_roundoff(weights);
    for (int64_t d = 0; d < a_.dim_v; ++d) {
      const size_t i = first + size_t(d);
      const double o = sums.output[size_t(d)];
      const double squared =
          sums.squares[size_t(d)] - 2 * o * sums.centered[size_t(d)] + o * o * sums.of_centered;
      expected.indices[i] = uint64_t(row * a_.dim_v + d);
      expected.values[i] = o;
      expected.bounds[i] =
          seen.count() > 0 ? bound(o, std::sqrt(std::max(0.0, squared)), common) : 0;
    }
  }

  std::vector<KeyFactors> factors_of(const RowWeights& weights) const {
    std::vector<KeyFactors> factors;
    for (const KeyWeight& weight : weights.keys) {
      const double p = weight.p;
      const double rounded = rows_.are_integers() ? 0 : 4 * rows_.roundoff_of(p);
      const double moved = rows_.are_integers() ? 0 : 4 * p * weight.error;
      factors.push_back({p, rounded * rounded + square(error_of_output_ * p), moved * moved});
    }
    return factors;
  }

  static double square(double x) { return x * x; }

  // `common` is the relative error of weights that are rounded alike and of a sink.
  double bound(double o, double random, double common) const {
    const double error =
        random + (2 * error_of_output_ + common + 8 * kRoundoffFloat) * std::abs(o);
    return error + a_.precision.output_roundoff * (std::abs(o) + error) +
           a_.precision.absolute_roundoff();
  }

  // ---- all outputs with Q = 0 -------------------------------------------------------------------

  struct Projected {
    explicit Projected(int64_t dim)
        : sums(size_t(dim)), squared_bounds(size_t(dim)), magnitudes(size_t(dim)) {}
    std::vector<double> sums, squared_bounds, magnitudes;
  };

  void project_integers(ExpectedOutput& expected) const {
    std::vector<Projected> parts(size_t(parallel_threads()), Projected(a_.dim_v));
    std::vector<float> values;
    std::vector<double> totals(size_t((a_.seq_kv + 1) * a_.dim_v));
    for (int64_t product = 0; product < a_.products(); ++product) {
      rows_.read_product(Attention::kStreamV, product, a_.dim_v, values);
      for (size_t i = 0; i < values.size(); ++i)
        totals[i + size_t(a_.dim_v)] = totals[i] + double(values[i]);
      const int64_t first = product * a_.rows();
      parallel_for(a_.rows(), 1 + kMinPart / a_.dim_v, [&](int64_t begin, int64_t end, int part) {
        for (int64_t row = first + begin; row < first + end; ++row)
          project_row(row, totals, parts[size_t(part)]);
      });
    }
    add_projections(parts, expected);
  }

  // `totals[key]` are the sums of the values of all keys before it.
  void project_row(int64_t row, const std::vector<double>& totals, Projected& part) const {
    const Attention::Keys seen = rows_.keys_of(row);
    if (seen.count() == 0) return;
    const double weight = deepbench_weight(rows_.seed(), uint64_t(row)),
                 p = rows_.equal_weight(row);
    const KeyWeight sink = rows_.equal_sink(row);
    const double random = error_of_output_ * std::sqrt(p) * kLargestInteger;
    const double common = rows_.roundoff_of(p) / p + sink.p * sink.error;
    const double* const begin = &totals[size_t(seen.begin * a_.dim_v)];
    const double* const end = &totals[size_t(seen.end * a_.dim_v)];
    for (int64_t d = 0; d < a_.dim_v; ++d) {
      const double o = (end[d] - begin[d]) * p;
      part.sums[size_t(d)] += weight * o;
      part.squared_bounds[size_t(d)] += square(bound(o, random, common));
      part.magnitudes[size_t(d)] += std::abs(o);
    }
  }

  void add_projections(const std::vector<Projected>& parts, ExpectedOutput& expected) const {
    const double queries = double(expected.outputs) / double(a_.dim_v);
    expected.projection_rows = uint64_t(a_.dim_v);
    expected.projection_seed = rows_.seed();
    for (size_t d = 0; d < size_t(a_.dim_v); ++d) {
      double sum = 0, squared_bounds = 0, magnitudes = 0;
      for (const Projected& part : parts) {
        sum += part.sums[d];
        squared_bounds += part.squared_bounds[d];
        magnitudes += part.magnitudes[d];
      }
      expected.projections.push_back(sum);
      expected.projection_bounds.push_back(kDeviations * std::sqrt(squared_bounds) +
                                           queries * kRoundoffDouble * magnitudes);
    }
    expected.coverage += " and " + std::to_string(a_.dim_v) + " projections of all";
  }

  // ---- a factor of all outputs ------------------------------------------------------------------

  // The weights of one query may be rounded alike; those of different queries are independent.
  void add_slope(ExpectedOutput& expected) const {
    const double queries = double(expected.indices.size()) / double(a_.dim_v);
    expected.slope = {ExpectedSlope::Of::kComparedElements,
                      {},
                      4 * rows_.weight_roundoff() / std::sqrt(queries) +
                          common_error_of_sums(double(a_.seq_kv), a_.precision.sum_roundoff) +
                          8 * kRoundoffFloat};
  }

  const AttentionRows rows_;
  const Attention& a_;
  const double error_of_output_;  // relative to the root of the sum of squares
};

}  // namespace

ExpectedOutput expected_attention_output(const Attention& attention,
                                         const KernelConditions& conditions) {
  return AttentionReference(attention, conditions).expected_output();
}

// Keys and values of one head in float, and the sums of values in double.
double attention_reference_bytes(const Attention& a) {
  const double compared = double(compared_products(a)) * double(a.group()) *
                          double(compared_queries(a)) * double(a.dim_v);
  return double(a.seq_kv) * double(4 * a.dim + 12 * a.dim_v) + 32 * compared;
}

}  // namespace deepbench
