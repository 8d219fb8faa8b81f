// The float64 reference of lookups. Every row of the output is a sum: of rows of the table, or of a
// row of the table's gradient and the gradients that lookups add to it.
//
// Bound of a sum of n terms in float, in any order: each of the n - 1 additions rounds a partial
// sum s by at most u |s|. In the worst case every |s| is the sum of all magnitudes. Of random
// terms, the partial sums stay below the final one and four times the root of the sum of squares,
// and their errors cancel: six times the root of n - 1 of them is never reached. The smaller of
// both holds. A narrower output is rounded once more. Rows that are copied are exact.
#include "deepbench/ops/embedding/reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/row_reference.hpp"
#include "deepbench/core/stratified_sample.hpp"

namespace deepbench {
namespace {

constexpr int64_t kSampledLookups = 256;
constexpr uint32_t kLookups = 12;  // random stream of the sampled lookups
constexpr double kDeviations = 6;
constexpr double kLargestFloat = 3.3e38;

// The sums of a row, and the quantities from which their bounds derive.
class RowSum {
 public:
  RowSum(int64_t dim, ExpectedRow& out)
      : term(size_t(dim)), values_(out.values), magnitudes_(size_t(dim)), squares_(size_t(dim)) {
    values_.assign(size_t(dim), 0);
  }

  std::vector<float> term;  // the summand that add_term() adds
  void add_term() {
    for (size_t i = 0; i < term.size(); ++i) {
      values_[i] += term[i], magnitudes_[i] += std::abs(term[i]);
      squares_[i] += double(term[i]) * term[i];
    }
    ++terms_;
  }

  double bound_in_float(size_t i, bool is_random) const {
    const auto additions = double(terms_ - 1);
    const double worst = additions * magnitudes_[i];
    const double random =
        kDeviations * std::sqrt(additions) * (std::abs(values_[i]) + 4 * std::sqrt(squares_[i]));
    return kRoundoffFloat * (is_random ? std::min(worst, random) : worst);
  }

 private:
  std::vector<double>& values_;
  std::vector<double> magnitudes_, squares_;
  int64_t terms_ = 0;
};

class EmbeddingReference final : public RowReference {
 public:
  EmbeddingReference(const Embedding& embedding, const KernelConditions& conditions)
      : RowReference(embedding.outputs() / embedding.dim, embedding.dim, conditions),
        e_(embedding),
        seed_(conditions.seed),
        inputs_(conditions.seed, conditions.inputs) {
    if (e_.is_backward) list_lookups_of_rows();
  }

  void compute_row(int64_t row, ExpectedRow& out) const override;
  bool is_exact() const override { return !e_.is_backward && e_.lookups_per_row() == 1; }
  std::vector<int64_t> further_rows() const override;
  std::optional<ExpectedGrowth> growth() const override;
  double share_of_rows_hit() const { return double(rows_hit_) / double(e_.rows); }

 private:
  void list_lookups_of_rows();
  void add_table_row(int64_t row, RowSum& sum) const;
  void add_gradients(int64_t row, RowSum& sum) const;
  void set_bounds(const RowSum& sum, ExpectedRow& out) const;

  const Embedding e_;
  const uint64_t seed_;
  const InputGenerator inputs_;
  // Only for the gradient: the lookups of table row r are lookups_[offsets_[r]] to [offsets_[r +
  // 1]].
  std::vector<uint32_t> offsets_, lookups_;
  int64_t rows_hit_ = 0, most_lookups_ = 0;
};

void EmbeddingReference::list_lookups_of_rows() {
  std::vector<uint32_t> row_of(size_t(e_.all_lookups()));
  parallel_for(e_.all_lookups(), 1 << 14, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) row_of[size_t(i)] = uint32_t(e_.row_of(seed_, i));
  });
  offsets_.assign(size_t(e_.rows) + 1, 0);
  for (const uint32_t row : row_of) ++offsets_[row + 1];
  for (const uint32_t count : offsets_)
    rows_hit_ += count > 0, most_lookups_ = std::max<int64_t>(most_lookups_, count);
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  std::vector<uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  lookups_.resize(row_of.size());
  for (size_t i = 0; i < row_of.size(); ++i) lookups_[next[row_of[i]]++] = uint32_t(i);
}

void EmbeddingReference::add_table_row(int64_t row, RowSum& sum) const {
  inputs_.fill(e_.table_type(), Embedding::kStreamTable, uint64_t(row * e_.dim), 1, e_.dim,
               sum.term.data());
  sum.add_term();
}

void EmbeddingReference::add_gradients(int64_t row, RowSum& sum) const {
  for (uint32_t at = offsets_[size_t(row)]; at < offsets_[size_t(row) + 1]; ++at) {
    const int64_t output_row = lookups_[at] / e_.lookups_per_row();
    inputs_.fill(e_.type(), Embedding::kStreamDy, uint64_t(output_row * e_.dim), 1, e_.dim,
                 sum.term.data());
    sum.add_term();
  }
}

void EmbeddingReference::compute_row(int64_t row, ExpectedRow& out) const {
  RowSum sum(e_.dim, out);
  if (e_.is_backward) {
    add_table_row(row, sum);
    out.initial = out.values;
    add_gradients(row, sum);
  } else {
    const int64_t first = row * e_.lookups_per_row();
    for (int64_t i = first; i < first + e_.lookups_per_row(); ++i)
      add_table_row(e_.row_of(seed_, i), sum);
  }
  set_bounds(sum, out);
}

void EmbeddingReference::set_bounds(const RowSum& sum, ExpectedRow& out) const {
  out.bounds.assign(out.values.size(), 0);
  if (is_exact()) return;
  for (size_t i = 0; i < out.values.size(); ++i) {
    double& bound = out.bounds[i];
    bound = sum.bound_in_float(i, !inputs_.is_constant());
    if (e_.output_type() != DEEPBENCH_F32)
      bound += e_.precision.output_roundoff * (std::abs(out.values[i]) + bound) +
               e_.precision.absolute_roundoff();
  }
}

// Adds rows with lookups, since most rows of a large table may have none.
std::vector<int64_t> EmbeddingReference::further_rows() const {
  std::vector<int64_t> rows;
  if (!e_.is_backward) return rows;
  for (const int64_t lookup :
       stratified_sample(e_.all_lookups(), kSampledLookups, verification_seed(), kLookups))
    rows.push_back(e_.row_of(seed_, lookup));
  return rows;
}

// Each addition of a later call rounds the total of the earlier calls.
std::optional<ExpectedGrowth> EmbeddingReference::growth() const {
  if (!e_.is_backward) return {};
  return ExpectedGrowth{double(most_lookups_) * kRoundoffFloat, kLargestFloat, {}};
}

}  // namespace

ExpectedOutput expected_embedding_output(const Embedding& embedding,
                                         const KernelConditions& conditions) {
  const auto reference = std::make_shared<EmbeddingReference>(embedding, conditions);
  ExpectedOutput expected = expected_rows(reference);
  // Rows to which no lookup adds keep their values.
  if (embedding.is_backward)
    expected.unchanged_share = 1 - (1 - expected.unchanged_share) * reference->share_of_rows_hit();
  return expected;
}

double embedding_reference_bytes(const Embedding& e) {
  const double lists =
      e.is_backward ? double(sizeof(uint32_t)) * 2 * (double(e.rows) + double(e.all_lookups())) : 0;
  return lists + row_reference_bytes(e.dim);
}

}  // namespace deepbench
