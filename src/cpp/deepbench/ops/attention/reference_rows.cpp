// Samples rows, and computes softmax in float64.
#include "deepbench/ops/attention/reference_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // products up to which every output is compared
// Products of sampled queries, beyond the minimum of queries.
constexpr double kSampledWork = 1 << 25;
constexpr double kMostWork = 1 << 30;    // products of the minimum of queries of each head
constexpr double kMaxOutputs = 1 << 20;  // compared outputs, beyond the minimum of queries
// Minimum of each head: the first, the last, and two between them.
constexpr int64_t kMinQueries = 4;
constexpr uint32_t kQueries = 11, kProducts = 12, kKeys = 13;  // random streams of sampled places
constexpr int64_t kMinPart = 1 << 16;  // elements for which a further thread pays off

double work_of_query(const Attention& a) { return double(a.seq_kv) * double(a.dim + a.dim_v); }

bool compares_all_rows(const Attention& a) {
  const double queries = double(a.batch) * double(a.heads) * double(a.seq_q);
  return queries * work_of_query(a) <= kFullWork &&
         double(a.elements(AttentionPart::kO)) <= kMaxOutputs;
}

InputGenerator generator_of(const Attention& a, const KernelConditions& conditions) {
  if (conditions.inputs != "integers") return {conditions.seed, conditions.inputs};
  InputGenerator::SmallIntegers all;
  for (size_t stream = 0; stream < all.size(); ++stream) all[stream] = a.integers(uint32_t(stream));
  return {conditions.seed, all};
}

double error_of_exponential(double score, double largest) {
  return 4 * kRoundoffFloat * (1 + std::abs(score) + std::abs(score - largest));
}

}  // namespace

int64_t compared_products(const Attention& a) {
  const double work = double(a.group() * std::min(a.seq_q, kMinQueries)) * work_of_query(a);
  return int64_t(
      std::clamp(kMostWork / work, std::min(2.0, double(a.products())), double(a.products())));
}

int64_t compared_queries(const Attention& a) {
  if (compares_all_rows(a)) return a.seq_q;
  const auto heads = double(compared_products(a) * a.group());
  const double queries =
      std::min(kSampledWork / (heads * work_of_query(a)), kMaxOutputs / (heads * double(a.dim_v)));
  return std::min(a.seq_q, std::max(kMinQueries, int64_t(queries)));
}

AttentionRows::AttentionRows(const Attention& attention, const KernelConditions& conditions)
    : a_(attention),
      seed_(conditions.verification_seed),
      integers_(conditions.inputs == "integers"),
      is_uniform_(conditions.inputs == "uniform"),
      inputs_(generator_of(attention, conditions)),
      error_of_score_(error_of_sums(double(a_.dim), a_.precision) +
                      4 * a_.precision.input_roundoff),
      weight_roundoff_(a_.precision.output_roundoff + 2 * a_.precision.input_roundoff) {}

std::vector<int64_t> AttentionRows::products() const {
  return stratified_sample(a_.products(), compared_products(a_), seed_, kProducts);
}

std::vector<int64_t> AttentionRows::rows_of(int64_t product) const {
  std::vector<int64_t> rows;
  for (int64_t head = product * a_.group(); head < (product + 1) * a_.group(); ++head)
    for (const int64_t query :
         stratified_sample(a_.seq_q, compared_queries(a_), seed_, kQueries, uint64_t(head)))
      rows.push_back(head * a_.seq_q + query);
  return rows;
}

std::vector<int64_t> AttentionRows::sampled_keys(int64_t count) const {
  return stratified_sample(a_.seq_kv, count, seed_, kKeys);
}

void AttentionRows::read_product(uint32_t stream, int64_t product, int64_t dim,
                                 std::vector<float>& to) const {
  to.resize(size_t(a_.seq_kv * dim));
  const auto first = uint64_t(product * a_.seq_kv * dim);
  parallel_for(int64_t(to.size()), kMinPart, [&](int64_t begin, int64_t end, int) {
    inputs_.fill(a_.type(), stream, first + uint64_t(begin), 1, end - begin, &to[size_t(begin)]);
  });
}

std::vector<float> AttentionRows::read_row(uint32_t stream, int64_t row, int64_t dim) const {
  std::vector<float> values(static_cast<size_t>(dim));
  inputs_.fill(a_.type(), stream, uint64_t(row * dim), 1, dim, values.data());
  return values;
}

double AttentionRows::sink(int64_t row) const {
  if (!a_.has_sink) return -std::numeric_limits<double>::infinity();
  const auto head = uint64_t(row / a_.seq_q % a_.heads);
  const double value = inputs_.element(DEEPBENCH_F32, Attention::kStreamSink, head);
  return integers_ ? value : double(Attention::kSinkScale) * value;
}

double AttentionRows::equal_weight(int64_t row) const {
  return 1 / (double(keys_of(row).count()) + std::exp(sink(row)));
}

KeyWeight AttentionRows::equal_sink(int64_t row) const {
  if (!a_.has_sink) return {};
  const double z = sink(row);
  return {std::exp(z) * equal_weight(row), error_of_exponential(z, std::max(z, 0.0))};
}

RowWeights AttentionRows::weights(int64_t row, const std::vector<float>& keys) const {
  const Attention::Keys seen = keys_of(row);
  const std::vector<float> query = read_row(Attention::kStreamQ, row, a_.dim);
  const double z = sink(row);
  RowWeights made;
  made.keys.resize(size_t(seen.count()));
  if (made.keys.empty() && !a_.has_sink) return made;
  std::vector<double> scores(made.keys.size());
  double largest = z;
  for (size_t j = 0; j < scores.size(); ++j) {
    const DotSums sums =
        dot_sums(query.data(), &keys[(size_t(seen.begin) + j) * size_t(a_.dim)], a_.dim);
    scores[j] = a_.scale() * sums.products;
    made.keys[j].error =
        a_.scale() * error_of_score_ * std::sqrt(sums.squares + sums.products * sums.products);
    largest = std::max(largest, scores[j]);
  }
  double sum = std::exp(z - largest);
  for (const double score : scores) sum += std::exp(score - largest);
  for (size_t j = 0; j < scores.size(); ++j) {
    made.keys[j].p = std::exp(scores[j] - largest) / sum;
    made.keys[j].error += error_of_exponential(scores[j], largest);
  }
  made.log_sum = largest + std::log(sum);
  if (a_.has_sink) made.sink = {std::exp(z - largest) / sum, error_of_exponential(z, largest)};
  return made;
}

double AttentionRows::roundoff_of(double p) const {
  return std::max(weight_roundoff_ * p, a_.precision.absolute_roundoff());
}

double AttentionRows::common_roundoff(const RowWeights& weights) const {
  double roundoffs = 0, sum = 0;
  for (const KeyWeight& weight : weights.keys) roundoffs += roundoff_of(weight.p), sum += weight.p;
  return sum > 0 ? roundoffs / sum : 0;
}

}  // namespace deepbench
