// Divides the queries of masked attention into blocks, whose products omit the keys that no query
// of the block sees.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "deepbench/ops/attention/attention.hpp"

namespace deepbench::cpu {

// Consecutive queries of a head, and the keys that at least one of them sees. A block whose queries
// see no key has one key nevertheless, so that products write their outputs.
struct QueryBlock {
  int64_t query_begin, queries;
  int64_t key_begin, keys;

  // Blocks of one shape share their products.
  struct Shape {
    int64_t queries, keys;
    bool operator<(const Shape& other) const {
      return std::tie(queries, keys) < std::tie(other.queries, other.keys);
    }
  };
  Shape shape() const { return {queries, keys}; }
};

// One block if nothing is masked, or if queries see almost the same keys.
std::vector<QueryBlock> query_blocks(const Attention& attention);

}  // namespace deepbench::cpu
