// The shared part of the references of attention and of its gradients: the operands, the compared
// queries, and the weights of one query in float64. A row is a query of a head of a sequence; rows
// are numbered in the order of the output.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/input_generator.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench {

struct KeyWeight {
  double p = 0;
  double error = 0;  // absolute error of the score, and relative error of its exponential
};

struct RowWeights {
  std::vector<KeyWeight> keys;  // the keys that the row sees
  KeyWeight sink;
  double log_sum = 0;
  // The relative error that the sink's exponential causes in all weights.
  double common_error() const { return sink.p * sink.error; }
};

// The number of compared queries of each head, and of key heads with compared queries.
int64_t compared_queries(const Attention& attention);
int64_t compared_products(const Attention& attention);

class AttentionRows {
 public:
  AttentionRows(const Attention& attention, const KernelConditions& conditions);

  const Attention& attention() const { return a_; }
  uint64_t seed() const { return seed_; }  // seed of verification
  bool are_integers() const { return integers_; }
  bool are_uniform() const { return is_uniform_; }
  bool are_constant() const { return inputs_.is_constant(); }

  std::vector<int64_t> products() const;                   // products with compared rows
  std::vector<int64_t> rows_of(int64_t product) const;     // compared rows of the product
  std::vector<int64_t> sampled_keys(int64_t count) const;  // include the first and the last key

  // Reads the keys or values of a key head.
  void read_product(uint32_t stream, int64_t product, int64_t dim, std::vector<float>& to) const;
  std::vector<float> read_row(uint32_t stream, int64_t row, int64_t dim) const;
  Attention::Keys keys_of(int64_t row) const { return a_.keys_of(row % a_.seq_q); }
  RowWeights weights(int64_t row, const std::vector<float>& keys) const;
  // The weight of every key of a row whose scores are all 0.
  double equal_weight(int64_t row) const;
  KeyWeight equal_sink(int64_t row) const;

  double weight_roundoff() const { return weight_roundoff_; }
  // The rounding error of a stored weight `p`.
  double roundoff_of(double p) const;
  // The relative error of all weights of a row whose weights are equal and therefore rounded alike.
  double common_roundoff(const RowWeights& weights) const;

 private:
  double sink(int64_t row) const;  // minus infinity: there is none

  const Attention a_;
  const uint64_t seed_;
  const bool integers_, is_uniform_;
  const InputGenerator inputs_;
  const double error_of_score_;  // relative to the root of the sum of squares
  const double weight_roundoff_;
};

}  // namespace deepbench
