// The loops of traffic.hpp as templates over a vector type and a kind of store. One source file per
// vector unit includes this header and is compiled for that unit, so everything here is local to
// that file. The option -fno-tree-loop-distribute-patterns prevents calls of memset and memcpy,
// which would choose their stores themselves.
#pragma once

#include <cstdint>

#include "ops/memory/traffic.hpp"

namespace deepbench::cpu {
namespace {

// The number of independent chains and adjacent stores that keeps the load and store units busy.
constexpr uint64_t kBlock = 8;

template <class Vector>
struct VectorSplit {
  static constexpr uint64_t kWords = sizeof(Vector) / sizeof(uint32_t);
  explicit VectorSplit(uint64_t count)
      : vectors(count / kWords), in_blocks(vectors / kBlock * kBlock) {}
  uint64_t vectors;    // The remaining words form a tail.
  uint64_t in_blocks;  // The number of vectors in whole blocks.
};

struct PlainStore {
  template <class Vector>
  void operator()(Vector* to, const Vector& value) const {
    *to = value;
  }
  void finish() const {}
};

template <class Vector>
uint32_t read_words(const uint32_t* words, uint64_t count) {
  const VectorSplit<Vector> split(count);
  const auto* in = reinterpret_cast<const Vector*>(words);
  Vector chains[kBlock] = {};
  for (uint64_t i = 0; i < split.in_blocks; i += kBlock) {
#pragma GCC unroll 8
    for (uint64_t j = 0; j < kBlock; ++j) chains[j] ^= in[i + j];
  }
  for (uint64_t i = split.in_blocks; i < split.vectors; ++i) chains[0] ^= in[i];
  uint32_t total = 0;
  for (const Vector& chain : chains)
    for (uint64_t i = 0; i < VectorSplit<Vector>::kWords; ++i) total ^= chain[i];
  for (uint64_t i = split.vectors * VectorSplit<Vector>::kWords; i < count; ++i) total ^= words[i];
  return total;
}

template <class Vector, class Store>
void write_words(uint32_t* words, uint64_t count, uint32_t pattern) {
  const VectorSplit<Vector> split(count);
  const Store store;
  auto* out = reinterpret_cast<Vector*>(words);
  const Vector value = Vector{} + pattern;
  for (uint64_t i = 0; i < split.in_blocks; i += kBlock) {
#pragma GCC unroll 8
    for (uint64_t j = 0; j < kBlock; ++j) store(out + i + j, value);
  }
  for (uint64_t i = split.in_blocks; i < split.vectors; ++i) store(out + i, value);
  for (uint64_t i = split.vectors * VectorSplit<Vector>::kWords; i < count; ++i) words[i] = pattern;
  store.finish();
}

template <class Vector, class Store>
void copy_words(uint32_t* to, const uint32_t* from, uint64_t count) {
  const VectorSplit<Vector> split(count);
  const Store store;
  auto* out = reinterpret_cast<Vector*>(to);
  const auto* in = reinterpret_cast<const Vector*>(from);
  for (uint64_t i = 0; i < split.in_blocks; i += kBlock) {
    Vector block[kBlock];
#pragma GCC unroll 8
    for (uint64_t j = 0; j < kBlock; ++j) block[j] = in[i + j];
#pragma GCC unroll 8
    for (uint64_t j = 0; j < kBlock; ++j) store(out + i + j, block[j]);
  }
  for (uint64_t i = split.in_blocks; i < split.vectors; ++i) store(out + i, in[i]);
  for (uint64_t i = split.vectors * VectorSplit<Vector>::kWords; i < count; ++i) to[i] = from[i];
  store.finish();
}

template <class Vector, class Store>
constexpr Traffic traffic_of() {
  return {read_words<Vector>, write_words<Vector, Store>, copy_words<Vector, Store>};
}

}  // namespace
}  // namespace deepbench::cpu
