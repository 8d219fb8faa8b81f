// The blocks of queries whose products leave out masked keys.
#include "ops/attention/query_blocks.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "deepbench/plugin.hpp"
#include "harness.hpp"

namespace deepbench::cpu_test {
namespace {

using cpu::query_blocks;
using cpu::QueryBlock;

Attention attention_of(const std::string& attributes) {
  const NamedValues named("batch=1 heads=1 dim=64 precision=float " + attributes);
  return attention_problem(plugin::Values(named.get()));
}

// Pairs of a query and a key that products of the blocks compute, per pair that is seen.
double computed_pairs_per_visible_pair(const Attention& attention) {
  double pairs = 0;
  for (const QueryBlock& block : query_blocks(attention))
    pairs += double(block.queries) * double(block.keys);
  return pairs / attention.visible_pairs();
}

TEST_CASE("blocks of queries have every query once, and every key that one of them sees") {
  for (const std::string lengths : {"seq_q=1 seq_kv=1", "seq_q=63 seq_kv=500", "seq_q=300 seq_kv=7",
                                    "seq_q=1000 seq_kv=1000", "seq_q=4000 seq_kv=4000"})
    for (const std::string mask : {"mask=none", "mask=top_left", "mask=bottom_right",
                                   "mask=top_left window=1", "mask=bottom_right window=100"}) {
      CAPTURE(lengths);
      CAPTURE(mask);
      const Attention attention = attention_of(lengths + " " + mask);
      int64_t next = 0, wrong = 0;
      for (const QueryBlock& block : query_blocks(attention)) {
        CHECK(block.query_begin == next);
        CHECK(block.queries >= 1);
        CHECK(block.key_begin >= 0);
        CHECK(block.keys >= 1);
        CHECK(block.key_begin + block.keys <= attention.seq_kv);
        next += block.queries;
        for (int64_t query = block.query_begin; query < next; ++query) {
          const Attention::Keys seen = attention.keys_of(query);
          wrong += seen.count() > 0 &&
                   (seen.begin < block.key_begin || seen.end > block.key_begin + block.keys);
        }
      }
      CHECK(next == attention.seq_q);
      CHECK(wrong == 0);
    }
}

TEST_CASE("products of blocks compute hardly more pairs than long sequences see") {
  CHECK(computed_pairs_per_visible_pair(attention_of("seq_q=8192 seq_kv=8192 mask=none")) == 1);
  for (const std::string mask : {"top_left", "bottom_right"}) {
    const std::string causal = "seq_q=8192 seq_kv=8192 mask=" + mask;
    CHECK(computed_pairs_per_visible_pair(attention_of(causal)) < 1.1);
    CHECK(computed_pairs_per_visible_pair(attention_of(causal + " window=128")) < 1.6);
    CHECK(computed_pairs_per_visible_pair(attention_of(causal + " window=4096")) < 1.1);
  }
  CHECK(computed_pairs_per_visible_pair(
            attention_of("seq_q=1 seq_kv=8192 mask=bottom_right window=128")) == 1);
}

TEST_CASE("blocks have few shapes, since each has products of its own") {
  for (const std::string window : {"", " window=128", " window=4096"}) {
    std::set<QueryBlock::Shape> shapes;
    for (const QueryBlock& block :
         query_blocks(attention_of("seq_q=100000 seq_kv=100000 mask=top_left" + window)))
      shapes.insert(block.shape());
    CHECK(shapes.size() <= 18);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
