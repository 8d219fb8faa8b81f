// Lookups of rows in a table, and their gradient: the typed problem. Header-only, for the core and
// for backends.
//
// The table has `rows` rows of `dim` elements. There are batch * lookups lookups; those of one
// entry of the batch follow one another.
//   gather  copies the row of every lookup; the output has a row for each lookup
//   sum     adds up the rows of an entry's lookups; the output has a row for each entry
//   bwd     adds the gradient of an output row to the table's gradient, to the row of each lookup
//           that the output row comes from. The table's gradient is of float, whatever the
//           precision, and holds values from before.
// All arrays are row-major.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/core/precision.hpp"
#include "deepbench/lookup.h"

namespace deepbench {

struct Embedding {
  int64_t rows = 0, dim = 0, lookups = 0, batch = 0;
  bool sums = false, is_skewed = false, is_backward = false;
  PrecisionInfo precision;

  // fill.h streams of the table, or of its gradient before the call; of the gradients of output
  // rows; and of the numbers of the rows that are looked up.
  static constexpr uint32_t kStreamTable = 0, kStreamDy = 1, kStreamLookups = 2;

  deepbench_type type() const { return precision.a; }
  deepbench_type table_type() const { return is_backward ? DEEPBENCH_F32 : type(); }
  deepbench_type output_type() const { return is_backward ? table_type() : type(); }
  int64_t all_lookups() const { return batch * lookups; }
  // Rows of the forward output, each of which results from `lookups_per_row()` lookups.
  int64_t output_rows() const { return sums ? batch : all_lookups(); }
  int64_t lookups_per_row() const { return sums ? lookups : 1; }
  int64_t table_elements() const { return rows * dim; }
  int64_t row_elements() const { return output_rows() * dim; }
  int64_t outputs() const { return is_backward ? table_elements() : row_elements(); }
  int64_t table_bytes() const { return table_elements() * size_of(table_type()); }
  int64_t row_bytes() const { return row_elements() * size_of(type()); }
  int64_t index_bytes() const { return all_lookups() * int64_t(sizeof(int32_t)); }

  uint32_t octaves() const { return is_skewed ? deepbench_octaves(uint32_t(rows)) : 0; }
  int64_t row_of(uint64_t seed, int64_t lookup) const {
    return deepbench_lookup(seed, kStreamLookups, uint32_t(rows), octaves(), uint64_t(lookup));
  }

  // Bytes that move; the gradient reads and writes a row of the table for each lookup.
  double traffic() const {
    const double per_lookup = double(dim) * double(size_of(table_type())) * (is_backward ? 2 : 1);
    return double(all_lookups()) * per_lookup + double(row_bytes()) + double(index_bytes());
  }

  // The number of rows of the table that are looked up at least once, averaged over seeds.
  double expected_distinct_rows() const {
    const auto distinct = [&](double count, double probability) {
      return count * -std::expm1(double(all_lookups()) * std::log1p(-probability));
    };
    if (rows == 1) return 1;
    if (!is_skewed) return distinct(double(rows), 1 / double(rows));
    const double octaves_of_all = std::ldexp(double(octaves()), -26);
    double sum = 0;
    for (int64_t first = 1; first <= rows; first *= 2)
      sum += distinct(double(first * 2 <= rows + 1 ? first : rows + 1 - first),
                      1 / (octaves_of_all * double(first)));
    return sum;
  }
  int64_t stored_bytes() const { return table_bytes() + row_bytes() + index_bytes(); }
  // The bytes at different addresses that a call accesses, averaged over seeds.
  double touched_bytes() const {
    return expected_distinct_rows() * double(dim) * double(size_of(table_type())) +
           double(row_bytes()) + double(index_bytes());
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Embedding embedding_problem(const Attributes& attributes) {
  Embedding embedding;
  embedding.rows = attributes.integer("rows");
  embedding.dim = attributes.integer("dim");
  embedding.lookups = attributes.integer("lookups");
  embedding.batch = attributes.integer("batch");
  embedding.sums = attributes.text("mode") == "sum";
  embedding.is_skewed = attributes.text("indices") == "zipf";
  embedding.is_backward = attributes.text("phase") == "bwd";
  embedding.precision = precision_info(attributes.text("precision"));
  return embedding;
}

}  // namespace deepbench
