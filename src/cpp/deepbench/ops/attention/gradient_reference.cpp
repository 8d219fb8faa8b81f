// The float64 reference of the gradients of attention.
//
// dQ is compared for the same queries as the output of attention, because it needs one row of
// scores only. dK and dV of a key need the rows of all queries that see the key, and dz needs those
// of all queries of a head: small problems are compared in full, and large ones at some keys, whose
// rows take at most kMostKeyWork products. With K = 0, the inputs "integers", every weight of a row
// is the same w = 1 / (keys + exp(z)). Sums over the keys from the first one on then give
// projections of all dK and dV, and every dz; all dQ are 0.
//
// Bounds, with the roundoff u of the precision, u32 of sums, the error e of a score and the
// roundoff r of a weight as the reference of the output has them. A library may round the weights P
// and dS to the precision before the products, and takes D from the output, which is rounded too:
//   x = dO V  of a pair    error_of_sums(dim_v) |(dO V, x)| + 4 input_roundoff |dO V|
//   D         of a row     4 |r x| + 4 |P e (x - D)| + error_of_sums(keys, dim_v) (|P dO V| + D)
//                            + (sum of r / sum of P + 8 u32) D + 2 u (|P dO V| + D)
//   dS = P (x - D)         8 r(dS) + 4 e dS + P (error of x), beside P (error of D)
// The errors of dS are independent from pair to pair, except that of D, which a row's pairs share.
// They take part in a sum over pairs as the root of a sum of squares; where all inputs are equal,
// as many times that as the root of the number of pairs.
#include "deepbench/ops/attention/gradient_reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/simd_level.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/attention/reference_rows.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // products up to which every key is compared
// Elements up to which every key is compared, because threads keep sums of them.
constexpr double kFullOutputs = 1 << 18;
// The most products of the rows of compared keys.
constexpr double kMostKeyWork = double(int64_t{1} << 33);
constexpr int64_t kSampledKeys = 4;
constexpr int64_t kMinPart = 1 << 18;       // products for which a further thread pays off
constexpr double kDeviations = 6;           // for projections, as in the reference of the output
constexpr double kMeanSquareOfValues = 21;  // of V in the inputs "integers": 1, 9, 25 and 49

double square(double x) { return x * x; }

// The values of a query and a key that it sees.
struct Pair {
  double p, ds;
  double p_random, ds_random;  // squared errors that are independent of other pairs
};

// One query of a head.
struct GradientRow {
  std::vector<Pair> pairs;
  double d = 0, d_error = 0;
  KeyWeight sink;
  double common_error = 0;  // relative error that all weights share
};

// Sums over pairs, with one element for each element of a key, a value or a query.
struct Sums {
  explicit Sums(size_t size) : values(size), squared_errors(size) {}
  void add(const Sums& other) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += other.values[i], squared_errors[i] += other.squared_errors[i];
  }
  std::vector<double> values, squared_errors;
};

void add_row(double factor, double squared_error, const float* row, int64_t dim, double* values,
             double* squared_errors) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    for (int64_t d = 0; d < dim; ++d) {
      const double x = row[d];
      values[d] += factor * x;
      squared_errors[d] += squared_error * x * x;
    }
  });
}

class GradientReference {
 public:
  GradientReference(const Attention& attention, const KernelConditions& conditions)
      : rows_(attention, conditions),
        a_(rows_.attention()),
        output_(a_.outputs().at(conditions.output)),
        error_over_keys_(error_of_sums(double(a_.seq_kv), a_.precision)),
        error_over_values_(error_of_sums(double(a_.dim_v), a_.precision)),
        error_over_rows_(error_of_sums(double(a_.rows()), a_.precision)) {}

  ExpectedOutput expected_output() {
    ExpectedOutput expected;
    expected.outputs = uint64_t(a_.elements(output_));
    if (output_ == AttentionPart::kDq)
      compare_queries(expected);
    else if (output_ == AttentionPart::kDsink)
      compare_sinks(expected);
    else
      compare_keys(expected);
    const bool all = expected.indices.size() == expected.outputs;
    expected.coverage = (all ? "all " : std::to_string(expected.indices.size()) + " of ") +
                        std::to_string(expected.outputs) + " outputs";
    if (rows_.are_integers() && output_ != AttentionPart::kDsink) project(expected);
    if (rows_.are_uniform() && !expected.indices.empty()) add_slope(expected);
    return expected;
  }

 private:
  int64_t width() const { return output_ == AttentionPart::kDv ? a_.dim_v : a_.dim; }
  // Errors of sums whose terms are all equal do not cancel.
  double correlation(double terms) const { return rows_.are_constant() ? std::sqrt(terms) : 1; }

  // The fewest rows for which a further thread pays off.
  int64_t rows_of_a_part() const { return 1 + kMinPart / (a_.seq_kv * (a_.dim + a_.dim_v)); }

  // ---- one row ----------------------------------------------------------------------------------

  GradientRow row_of(int64_t row, const std::vector<float>& keys,
                     const std::vector<float>& values) const {
    const Attention::Keys seen = rows_.keys_of(row);
    const RowWeights weights = rows_.weights(row, keys);
    GradientRow made;
    made.sink = weights.sink;
    made.common_error = weights.common_error() + 4 * kRoundoffFloat * std::abs(weights.log_sum);
    std::vector<DotSums> x(weights.keys.size());
    if (output_ != AttentionPart::kDv) {  // dV depends on the weights alone
      const std::vector<float> gradient = rows_.read_row(Attention::kStreamDo, row, a_.dim_v);
      for (size_t j = 0; j < x.size(); ++j) {
        x[j] = dot_sums(gradient.data(), &values[(size_t(seen.begin) + j) * size_t(a_.dim_v)],
                        a_.dim_v);
        made.d += weights.keys[j].p * x[j].products;
      }
      made.d_error = error_of_d(made, weights, x, gradient);
    }
    made.pairs.reserve(x.size());
    for (size_t j = 0; j < x.size(); ++j)
      made.pairs.push_back(pair_of(made, weights.keys[j], x[j]));
    return made;
  }

  double error_of_d(const GradientRow& row, const RowWeights& weights,
                    const std::vector<DotSums>& x, const std::vector<float>& gradient) const {
    const double common = row.common_error + rows_.common_roundoff(weights) + 8 * kRoundoffFloat;
    double random = 0, magnitude = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      const double p = weights.keys[j].p, product = x[j].products;
      random += square(rows_.roundoff_of(p) * product) +
                square(p * weights.keys[j].error * (product - row.d));
      magnitude += square(p) * x[j].squares;
    }
    double squares = 0;
    for (const float element : gradient) squares += square(double(element));
    magnitude = std::sqrt(magnitude) + std::abs(row.d);
    return 4 * std::sqrt(random) * correlation(double(x.size())) +
           (error_over_keys_ + error_over_values_ + 2 * a_.precision.output_roundoff) * magnitude +
           common * std::abs(row.d) + 2 * a_.precision.absolute_roundoff() * std::sqrt(squares);
  }

  Pair pair_of(const GradientRow& row, const KeyWeight& weight, const DotSums& x) const {
    const double p = weight.p, ds = p * (x.products - row.d);
    const double x_error = error_over_values_ * std::sqrt(x.squares + square(x.products)) +
                           4 * a_.precision.input_roundoff * std::sqrt(x.squares);
    const double rounded = std::max(rows_.weight_roundoff() * std::abs(ds),
                                    a_.precision.absolute_roundoff() / a_.scale());
    return {p, ds, square(4 * rows_.roundoff_of(p)) + square(4 * p * weight.error),
            square(8 * rounded) + square(4 * weight.error * ds) + square(p * x_error)};
  }

  // `random` and `shared` are absolute errors; `sums` is the relative error of sums.
  double bound(double value, double random, double shared, double sums, double common) const {
    const double error =
        random + shared +
        (sums + common + 2 * rows_.weight_roundoff() + 8 * kRoundoffFloat) * std::abs(value);
    return error + a_.precision.output_roundoff * (std::abs(value) + error) +
           a_.precision.absolute_roundoff();
  }

  static void compare(ExpectedOutput& expected, int64_t index, double value, double bound) {
    expected.indices.push_back(uint64_t(index));
    expected.values.push_back(value);
    expected.bounds.push_back(bound);
  }

  // ---- dQ ---------------------------------------------------------------------------------------

  void compare_queries(ExpectedOutput& expected) const {
    std::vector<float> keys, values;
    for (const int64_t product : rows_.products()) {
      rows_.read_product(Attention::kStreamK, product, a_.dim, keys);
      rows_.read_product(Attention::kStreamV, product, a_.dim_v, values);
      const std::vector<int64_t> rows = rows_.rows_of(product);
      const size_t first = expected.indices.size();
      expected.resize(first + rows.size() * size_t(a_.dim));
      parallel_for(int64_t(rows.size()), rows_of_a_part(), [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
          compare_query(rows[size_t(i)], keys, values, first + size_t(i * a_.dim), expected);
      });
    }
  }

  void compare_query(int64_t at, const std::vector<float>& keys, const std::vector<float>& values,
                     size_t first, ExpectedElements& expected) const {
    const GradientRow row = row_of(at, keys, values);
    const auto dim = size_t(a_.dim);
    Sums of_ds(dim), of_p(dim);
    const float* key = keys.data() + rows_.keys_of(at).begin * a_.dim;
    for (const Pair& pair : row.pairs) {
      const double random = pair.ds_random + square(error_over_keys_ * pair.ds);
      add_row(pair.ds, random, key, a_.dim, of_ds.values.data(), of_ds.squared_errors.data());
      add_row(pair.p, 0, key, a_.dim, of_p.values.data(), of_p.squared_errors.data());
      key += a_.dim;
    }
    for (size_t d = 0; d < dim; ++d) {
      const double value = a_.scale() * of_ds.values[d];
      const double random =
          a_.scale() * std::sqrt(of_ds.squared_errors[d]) * correlation(double(row.pairs.size()));
      const double shared = a_.scale() * row.d_error * std::abs(of_p.values[d]);
      expected.indices[first + d] = uint64_t(at * a_.dim) + d;
      expected.values[first + d] = value;
      expected.bounds[first + d] =
          row.pairs.empty() ? 0 : bound(value, random, shared, error_over_keys_, row.common_error);
    }
  }

  // ---- dK and dV --------------------------------------------------------------------------------

  // The number of products of the rows of one key head that see any of the keys.
  double work_of_rows(const std::vector<int64_t>& keys) const {
    double pairs = 0;
    for (int64_t query = 0; query < a_.seq_q; ++query)
      if (sees_any(a_.keys_of(query), keys)) pairs += double(a_.keys_of(query).count());
    return double(a_.group()) * pairs * double(a_.dim + a_.dim_v);
  }
  static bool sees_any(const Attention::Keys& seen, const std::vector<int64_t>& keys) {
    const auto first = std::lower_bound(keys.begin(), keys.end(), seen.begin);
    return first != keys.end() && *first < seen.end;
  }

  bool compares_all_keys() const {
    return double(a_.products()) * double(a_.rows()) * double(a_.seq_kv) *
                   double(a_.dim + a_.dim_v) <=
               kFullWork &&
           double(a_.elements(output_)) <= kFullOutputs;
  }

  // The compared keys, sorted. If several are too much work, only the last one, which fewer queries
  // see under a mask.
  std::vector<int64_t> compared_keys() const {
    std::vector<int64_t> keys =
        rows_.sampled_keys(compares_all_keys() ? a_.seq_kv : std::min(a_.seq_kv, kSampledKeys));
    if (work_of_rows(keys) > kMostKeyWork) keys = {a_.seq_kv - 1};
    if (work_of_rows(keys) > kMostKeyWork) keys.clear();
    return keys;
  }

  // Returns the key heads whose queries are compared, at most as many as the limit of work permits.
  std::vector<int64_t> products_within(double work) const {
    std::vector<int64_t> products = rows_.products();
    if (double(products.size()) * work > kMostKeyWork) products.resize(size_t(kMostKeyWork / work));
    return products;
  }

  void compare_keys(ExpectedOutput& expected) const {
    const std::vector<int64_t> keys = compared_keys();
    if (keys.empty()) return;
    for (const int64_t product : products_within(work_of_rows(keys)))
      compare_keys_of(product, keys, expected);
  }

  void compare_keys_of(int64_t product, const std::vector<int64_t>& compared,
                       ExpectedOutput& expected) const {
    std::vector<float> keys, values;
    rows_.read_product(Attention::kStreamK, product, a_.dim, keys);
    rows_.read_product(Attention::kStreamV, product, a_.dim_v, values);
    const size_t size = compared.size() * size_t(width());
    std::vector<Sums> parts(static_cast<size_t>(parallel_threads()), Sums(size));
    parallel_for(a_.rows(), rows_of_a_part(), [&](int64_t begin, int64_t end, int part) {
      for (int64_t row = product * a_.rows() + begin; row < product * a_.rows() + end; ++row)
        if (sees_any(rows_.keys_of(row), compared))
          add_to_keys(row, row_of(row, keys, values), compared, parts[size_t(part)]);
    });
    Sums all(size);
    for (const Sums& part : parts) all.add(part);
    store_keys(product, compared, all, expected);
  }

  void add_to_keys(int64_t at, const GradientRow& row, const std::vector<int64_t>& compared,
                   Sums& sums) const {
    const bool is_dv = output_ == AttentionPart::kDv;
    const std::vector<float> factor =
        rows_.read_row(is_dv ? Attention::kStreamDo : Attention::kStreamQ, at, width());
    const Attention::Keys seen = rows_.keys_of(at);
    for (size_t k = 0; k < compared.size(); ++k) {
      if (compared[k] < seen.begin || compared[k] >= seen.end) continue;
      const Pair& pair = row.pairs[size_t(compared[k] - seen.begin)];
      const double value = is_dv ? pair.p : a_.scale() * pair.ds;
      const double random =
          is_dv ? pair.p_random
                : square(a_.scale()) * (pair.ds_random + square(pair.p * row.d_error));
      const size_t first = k * size_t(width());
      add_row(value, random + square((error_over_rows_ + row.common_error) * value), factor.data(),
              width(), &sums.values[first], &sums.squared_errors[first]);
    }
  }

  void store_keys(int64_t product, const std::vector<int64_t>& compared, const Sums& sums,
                  ExpectedOutput& expected) const {
    const double errors = correlation(double(a_.rows()));
    for (size_t i = 0; i < sums.values.size(); ++i) {
      const int64_t key = product * a_.seq_kv + compared[i / size_t(width())];
      const double random = std::sqrt(sums.squared_errors[i]) * errors;
      const bool is_seen = sums.squared_errors[i] > 0 || sums.values[i] != 0;
      compare(expected, key * width() + int64_t(i) % width(), sums.values[i],
              is_seen ? bound(sums.values[i], random, 0, error_over_rows_, 0) : 0);
    }
  }

  // ---- dz ---------------------------------------------------------------------------------------

  struct SinkSum {
    double value = 0, squared_error = 0;
    void add(double weight, const GradientRow& row) {
      const double term = -row.sink.p * row.d;
      value += term;
      squared_error += square(weight * term) + square(row.sink.p * row.d_error) +
                       square(4 * row.sink.error * term);
    }
  };

  // Sums over all queries of all sequences, for as many heads as the work permits.
  void compare_sinks(ExpectedOutput& expected) const {
    const double work =
        double(a_.batch) * double(a_.seq_q) * double(a_.seq_kv) * double(a_.dim + a_.dim_v);
    const double most = rows_.are_integers() ? double(a_.heads) : kMostKeyWork / work;
    const auto heads = std::min(a_.heads, int64_t(std::min(most, double(a_.heads))));
    std::vector<float> keys, values;
    for (int64_t head = 0; head < heads; ++head) {
      SinkSum sum;
      for (int64_t sequence = 0; sequence < a_.batch; ++sequence)
        add_sequence(sequence * a_.heads + head, keys, values, sum);
      const double random =
          std::sqrt(sum.squared_error) * correlation(double(a_.batch) * double(a_.seq_q));
      compare(expected, head, sum.value, random + 16 * kRoundoffFloat * std::abs(sum.value));
    }
  }

  void add_sequence(int64_t head, std::vector<float>& keys, std::vector<float>& values,
                    SinkSum& sum) const {
    const double sums = random_error_of_sums(double(a_.batch) * double(a_.seq_q), a_.precision);
    const int64_t product = head / a_.group();
    rows_.read_product(Attention::kStreamV, product, a_.dim_v, values);
    if (rows_.are_integers())
      return for_equal_rows(head * a_.seq_q, (head + 1) * a_.seq_q, values,
                            [&](int64_t, const EqualRow& row) { sum.add(sums, row.row); });
    rows_.read_product(Attention::kStreamK, product, a_.dim, keys);
    std::vector<GradientRow> rows(static_cast<size_t>(a_.seq_q));
    parallel_for(a_.seq_q, rows_of_a_part(), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        rows[size_t(i)] = row_of(head * a_.seq_q + i, keys, values);
        rows[size_t(i)].pairs = {};
      }
    });
    for (const GradientRow& row : rows) sum.add(sums, row);
  }

  // ---- all outputs with K = 0 -------------------------------------------------------------------

  // A query whose weights are equal.
  struct EqualRow {
    double weight = 0;
    std::vector<float> gradient;  // dO
    GradientRow row;              // the pairs are omitted
  };

  // For each key, the sum over the keys before it.
  static std::vector<double> running_sums(const std::vector<float>& values, int64_t dim,
                                          const std::vector<double>& factors) {
    std::vector<double> totals(values.size() + size_t(dim));
    for (size_t i = 0; i < values.size(); ++i)
      totals[i + size_t(dim)] = totals[i] + factors[i / size_t(dim)] * double(values[i]);
    return totals;
  }
  // The product of `factor` and the sum over the keys that are seen, which follows from `totals`.
  static double product(const std::vector<float>& factor, const std::vector<double>& totals,
                        const Attention::Keys& seen) {
    const size_t dim = factor.size();
    double sum = 0;
    for (size_t d = 0; d < dim; ++d)
      sum += double(factor[d]) *
             (totals[size_t(seen.end) * dim + d] - totals[size_t(seen.begin) * dim + d]);
    return sum;
  }

  template <class Visit>
  void for_equal_rows(int64_t begin, int64_t end, const std::vector<float>& values,
                      const Visit& visit) const {
    const std::vector<double> totals =
        running_sums(values, a_.dim_v, std::vector<double>(size_t(a_.seq_kv), 1.0));
    const auto dim_v = double(a_.dim_v);
    for (int64_t at = begin; at < end; ++at) {
      const Attention::Keys seen = rows_.keys_of(at);
      EqualRow equal;
      equal.gradient = rows_.read_row(Attention::kStreamDo, at, a_.dim_v);
      equal.row.sink = rows_.equal_sink(at);
      equal.row.common_error = equal.row.sink.p * equal.row.sink.error;
      if (seen.count() > 0) equal.weight = rows_.equal_weight(at);
      equal.row.d = equal.weight * product(equal.gradient, totals, seen);
      // Each product of dO and V has dim_v terms of a known mean square.
      const double magnitude =
          equal.weight * std::sqrt(double(seen.count()) * dim_v * kMeanSquareOfValues) +
          std::abs(equal.row.d);
      const double rounded = equal.weight > 0 ? rows_.roundoff_of(equal.weight) / equal.weight : 0;
      equal.row.d_error =
          (error_over_keys_ + error_over_values_ + 2 * a_.precision.output_roundoff + rounded +
           equal.row.common_error + 8 * kRoundoffFloat) *
              magnitude +
          2 * a_.precision.absolute_roundoff() * std::sqrt(dim_v);
      visit(at, equal);
    }
  }

  struct Projected {
    std::vector<double> sums, magnitudes;
    double squares = 0;   // sum of the squared terms of all outputs of a column
    double absolute = 0;  // squared errors that are not relative to the terms
  };

  void project(ExpectedOutput& expected) const {
    expected.projection_rows = uint64_t(width());
    expected.projection_seed = rows_.seed();
    expected.projections.assign(size_t(width()), 0);
    expected.projection_bounds.assign(size_t(width()), 0);
    if (output_ != AttentionPart::kDq) project_keys(expected);
    expected.coverage += " and " + std::to_string(width()) + " projections of all";
  }

  void project_keys(ExpectedOutput& expected) const {
    const std::vector<double> zeros(static_cast<size_t>(width()));
    std::vector<Projected> parts(static_cast<size_t>(parallel_threads()), {zeros, zeros});
    parallel_for(a_.products(), 1, [&](int64_t begin, int64_t end, int part) {
      for (int64_t product = begin; product < end; ++product)
        project_product(product, parts[size_t(part)]);
    });
    double squares = 0, absolute = 0;
    for (const Projected& part : parts) squares += part.squares, absolute += part.absolute;
    absolute +=
        double(a_.products()) * double(a_.seq_kv) * square(a_.precision.absolute_roundoff());
    const double relative = a_.precision.output_roundoff + 12 * rows_.weight_roundoff() +
                            3 * (error_over_rows_ + error_over_values_) + 32 * kRoundoffFloat;
    for (size_t d = 0; d < zeros.size(); ++d) {
      double magnitude = 0;
      for (const Projected& part : parts)
        expected.projections[d] += part.sums[d], magnitude += part.magnitudes[d];
      expected.projection_bounds[d] =
          kDeviations * std::sqrt(square(relative) * squares + absolute) +
          double(a_.seq_kv + a_.rows()) * kRoundoffDouble * magnitude;
    }
  }

  void project_product(int64_t number, Projected& part) const {
    std::vector<float> values;
    rows_.read_product(Attention::kStreamV, number, a_.dim_v, values);
    std::vector<double> weights(static_cast<size_t>(a_.seq_kv)), weight_totals(weights.size() + 1);
    for (size_t key = 0; key < weights.size(); ++key) {
      weights[key] = deepbench_weight(rows_.seed(), uint64_t(number * a_.seq_kv) + key);
      weight_totals[key + 1] = weight_totals[key] + weights[key];
    }
    const std::vector<double> weighted = running_sums(values, a_.dim_v, weights);
    for_equal_rows(
        number * a_.rows(), (number + 1) * a_.rows(), values, [&](int64_t at, const EqualRow& row) {
          const Attention::Keys seen = rows_.keys_of(at);
          const double keys = weight_totals[size_t(seen.end)] - weight_totals[size_t(seen.begin)];
          if (output_ == AttentionPart::kDv)
            add_term(row.weight * keys, square(row.weight), 0, row.gradient, seen, part);
          else
            project_ds(at, row, product(row.gradient, weighted, seen), keys, part);
        });
  }

  // `keys` is the sum over the keys of the projection's weights, and `x` that of the weights times
  // dO V.
  void project_ds(int64_t at, const EqualRow& row, double x, double keys, Projected& part) const {
    const double factor = a_.scale() * row.weight, absolute = a_.precision.absolute_roundoff();
    const double square_of_x = double(a_.dim_v) * kMeanSquareOfValues;
    add_term(factor * (x - row.row.d * keys), square(factor) * square_of_x,
             square(factor * row.row.d_error) + square(8 * absolute),
             rows_.read_row(Attention::kStreamQ, at, a_.dim), rows_.keys_of(at), part);
  }

  // `squares` and `absolute` are those of one key.
  void add_term(double weight, double squares, double absolute, const std::vector<float>& factor,
                const Attention::Keys& seen, Projected& part) const {
    part.squares += squares * double(seen.count());
    part.absolute += absolute * double(seen.count());
    for (size_t d = 0; d < factor.size(); ++d) {
      part.sums[d] += weight * double(factor[d]);
      part.magnitudes[d] += std::abs(weight * double(factor[d]));
    }
  }

  // ---- a factor of all outputs ------------------------------------------------------------------

  void add_slope(ExpectedOutput& expected) const {
    const double rows = std::max(1.0, double(expected.indices.size()) / double(width()));
    const double terms = double(std::max(a_.seq_kv, a_.rows()));
    expected.slope = {ExpectedSlope::Of::kComparedElements,
                      {},
                      4 * rows_.weight_roundoff() / std::sqrt(rows) +
                          common_error_of_sums(terms, a_.precision.sum_roundoff) +
                          16 * kRoundoffFloat};
  }

  const AttentionRows rows_;
  const Attention& a_;
  const AttentionPart output_;
  // These errors are relative to the root of the sum of squares.
  const double error_over_keys_, error_over_values_, error_over_rows_;
};

}  // namespace

ExpectedOutput expected_attention_gradient(const Attention& attention,
                                           const KernelConditions& conditions) {
  return GradientReference(attention, conditions).expected_output();
}

// For each thread, keys and values of one head in float and their running sums in double, and the
// pairs of a row; in addition the compared outputs.
double attention_gradient_reference_bytes(const Attention& a) {
  const auto threads = double(parallel_threads());
  const double compared = double(compared_products(a)) * double(a.group()) *
                          double(compared_queries(a)) * double(a.dim);
  const double sums =
      16 * std::min(kFullOutputs, double(a.seq_kv) * double(std::max(a.dim, a.dim_v)));
  return threads * (double(a.seq_kv) * double(4 * a.dim + 20 * a.dim_v + 80) + sums) +
         32 * (compared + kFullOutputs);
}

}  // namespace deepbench
