// Computes the requested parts of sums over rows of states as matrix products.
#include "ops/rnn/weight_gradient.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "deepbench/fill.h"
#include "ops/rnn/product.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

// With fewer rows, a projection costs as much as the whole gradient.
constexpr uint64_t kFewestRows = 8;
constexpr uint64_t kGrain = 256;  // The number of rows of states in a unit of work.

// The elements of one gate that a caller requests.
struct RequestedElements {
  std::vector<int64_t> rows, columns;
  std::vector<size_t> at;  // Their positions in the list of indices.
};

void sort_and_deduplicate(std::vector<int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

size_t sorted_position(const std::vector<int64_t>& values, int64_t value) {
  return size_t(std::lower_bound(values.begin(), values.end(), value) - values.begin());
}

// Copies these columns of a matrix side by side.
std::vector<float> gathered_columns(const float* from, int64_t stride, int64_t rows,
                                    const std::vector<int64_t>& columns) {
  std::vector<float> to(size_t(rows) * columns.size());
  host_workers().parallel_for(uint64_t(rows), kGrain, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t row = begin; row < end; ++row) {
      const float* const line = from + int64_t(row) * stride;
      float* const out = to.data() + row * columns.size();
      for (size_t i = 0; i < columns.size(); ++i) out[i] = line[columns[i]];
    }
  });
  return to;
}

}  // namespace

WeightGradient::WeightGradient(const Rnn& rnn, const float* ds, std::vector<GateGroup> groups)
    : rnn_(rnn), ds_(ds), groups_(std::move(groups)) {}

const GateGroup& WeightGradient::group_of(int64_t gate) const {
  return gate < groups_[0].count ? groups_[0] : groups_[1];
}

void WeightGradient::complete(float* du) const {
  const int64_t row = rnn_.gates() * hidden();
  for (const GateGroup& group : groups_)
    multiply(group.count * hidden(), hidden(), state_rows(),
             {ds_ + group.first * hidden(), row, true}, {group.factors, hidden(), false},
             du + group.first * hidden() * hidden(), hidden(), false);
}

bool WeightGradient::read(const uint64_t* indices, size_t count, double* values) const {
  std::map<int64_t, RequestedElements> gates;
  for (size_t i = 0; i < count; ++i) {
    const auto index = int64_t(indices[i]);
    RequestedElements& requested = gates[index / (hidden() * hidden())];
    requested.rows.push_back(index / hidden() % hidden());
    requested.columns.push_back(index % hidden());
    requested.at.push_back(i);
  }
  for (auto& [gate, requested] : gates) {
    const std::vector<int64_t> rows = requested.rows, columns = requested.columns;
    sort_and_deduplicate(requested.rows), sort_and_deduplicate(requested.columns);
    if (requested.rows.size() * requested.columns.size() > requested.at.size()) return false;
    const std::vector<float> made = submatrix(gate, requested.rows, requested.columns);
    for (size_t i = 0; i < requested.at.size(); ++i)
      values[requested.at[i]] =
          double(made[sorted_position(requested.rows, rows[i]) * requested.columns.size() +
                      sorted_position(requested.columns, columns[i])]);
  }
  return true;
}

std::vector<float> WeightGradient::submatrix(int64_t gate, const std::vector<int64_t>& rows,
                                             const std::vector<int64_t>& columns) const {
  const auto height = int64_t(rows.size()), width = int64_t(columns.size());
  const std::vector<float> ds =
      gathered_columns(ds_ + gate * hidden(), rnn_.gates() * hidden(), state_rows(), rows);
  const std::vector<float> factors =
      gathered_columns(group_of(gate).factors, hidden(), state_rows(), columns);
  std::vector<float> made(rows.size() * columns.size());
  multiply(height, width, state_rows(), {ds.data(), height, true}, {factors.data(), width, false},
           made.data(), width, false);
  return made;
}

bool WeightGradient::can_project(const Rnn& rnn, uint64_t rows) {
  return rows >= kFewestRows && uint64_t(rnn.hidden) % rows == 0;
}

// Element [row][j] of a gate has the weight [row][j / rows]. The gradient's element is a sum of
// ds[row] times factor[j], so that ds is multiplied by the weights first.
void WeightGradient::add_projection(uint64_t rows, uint64_t seed, uint64_t first_column,
                                    double* sums) const {
  const auto parts = int64_t(uint64_t(hidden()) / rows);
  std::vector<float> weights(size_t(rnn_.gates() * hidden() * parts));
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = float(deepbench_weight(seed, first_column + i));
  std::vector<float> weighted(size_t(state_rows() * parts));
  std::mutex adding;
  for (const GateGroup& group : groups_) {
    multiply(state_rows(), parts, group.count * hidden(),
             {ds_ + group.first * hidden(), rnn_.gates() * hidden(), false},
             {weights.data() + group.first * hidden() * parts, parts, false}, weighted.data(),
             parts, false);
    host_workers().parallel_for(
        uint64_t(state_rows()), kGrain, [&](uint64_t begin, uint64_t end, size_t) {
          std::vector<double> partial_sums(rows);
          for (auto state_row = int64_t(begin); state_row < int64_t(end); ++state_row)
            for (int64_t part = 0; part < parts; ++part) {
              const double weight = weighted[size_t(state_row * parts + part)];
              const float* const factors =
                  group.factors + state_row * hidden() + part * int64_t(rows);
              for (uint64_t i = 0; i < rows; ++i) partial_sums[i] += weight * double(factors[i]);
            }
          const std::lock_guard lock(adding);
          for (uint64_t i = 0; i < rows; ++i) sums[i] += partial_sums[i];
        });
  }
}

}  // namespace deepbench::cpu
