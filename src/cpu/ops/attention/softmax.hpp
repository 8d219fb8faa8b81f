// The softmax between the products of attention, and its gradient, for one row of scores.
#pragma once

#include <cstdint>
#include <limits>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// The scores of one query, which sees the keys [begin, end).
struct ScoreRow {
  float* scores;  // overwritten
  int64_t keys, begin, end;
};

constexpr float kNoSink = -std::numeric_limits<float>::infinity();

// Writes softmax(scale * scores) over the keys that the query sees and the sink, and 0 for others,
// as `type`: float, half or bfloat16. In float the weights may overwrite the scores. Returns the
// logarithm of the sum of exponentials; minus infinity for a query that sees nothing.
float write_weights(const ScoreRow& row, float scale, float sink, deepbench_type type,
                    void* weights);

// The inputs of the gradient of one query: the logarithm that the forward pass left, and the sum of
// the elements of dO O.
struct GradientOfRow {
  float log_sum, d;
  float* products;  // dO V of each key; overwritten
};

// Writes the weights P again, and scale * P (dO V - d); both are 0 for keys that the query does not
// see. In float they may overwrite the scores and the products.
void write_gradients(const ScoreRow& row, const GradientOfRow& of, float scale, deepbench_type type,
                     void* weights, void* gradients);

// Writes the values as `type`.
void store_as(const float* values, int64_t count, deepbench_type type, void* to);

// The sum of a[i] b[i].
float sum_of_products(const void* a, const void* b, int64_t count, deepbench_type type);

}  // namespace deepbench::cpu
