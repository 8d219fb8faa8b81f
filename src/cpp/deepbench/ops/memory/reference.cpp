// The reference of memory problems. It compares sampled words and a projection exactly; for a read
// it computes the one output word in full.
#include "deepbench/ops/memory/reference.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {
namespace {

constexpr int64_t kSamples = 1024;
constexpr uint32_t kPlaces = 11;  // random stream of the compared places
constexpr int64_t kMinPart = 1 << 16;
constexpr int64_t kBlock = 1024;

uint32_t expected_word(const Memory& memory, const KernelConditions& conditions, uint64_t index) {
  if (memory.kind == MemoryKind::kWrite) return write_pattern(conditions.seed);
  if (conditions.inputs != "uniform") return conditions.inputs == "ones" ? 1 : 0;
  return memory_word(conditions.seed, memory.source_of(index));
}

// Calls visit(first, words, count) for consecutive blocks of [begin, end).
template <class Visit>
void for_each_block(const Memory& memory, const KernelConditions& conditions, int64_t begin,
                    int64_t end, const Visit& visit) {
  const bool random = memory.kind != MemoryKind::kWrite && conditions.inputs == "uniform";
  uint32_t words[kBlock];
  if (!random) std::fill(words, words + kBlock, expected_word(memory, conditions, 0));
  for (int64_t first = begin, count; first < end; first += count) {
    const auto source = int64_t(memory.source_of(uint64_t(first)));
    count = std::min({kBlock, end - first, memory.words() - source});
    if (random) {
      fill_words(conditions.seed, Memory::kStream, uint64_t(source), count, words);
      for (int64_t i = 0; i < count; ++i) words[i] &= ~1u;  // as memory_word() does
    }
    visit(first, words, count);
  }
}

uint32_t xor_of_all_words(const Memory& memory, const KernelConditions& conditions) {
  std::atomic<uint32_t> total{0};
  parallel_for(memory.words(), kMinPart, [&](int64_t begin, int64_t end, int) {
    uint32_t part = 0;
    for_each_block(memory, conditions, begin, end,
                   [&](int64_t, const uint32_t* words, int64_t count) {
                     for (int64_t i = 0; i < count; ++i) part ^= words[i];
                   });
    total ^= part;
  });
  return total;
}

double weighted_sum(const Memory& memory, const KernelConditions& conditions) {
  std::vector<double> parts(size_t(parallel_threads()), 0.0);
  parallel_for(memory.words(), kMinPart, [&](int64_t begin, int64_t end, int part) {
    double sum = 0, values[kBlock];
    float weights[kBlock];
    for_each_block(memory, conditions, begin, end,
                   [&](int64_t first, const uint32_t* words, int64_t count) {
                     fill_weights(conditions.verification_seed, uint64_t(first), count, weights);
                     std::copy(words, words + count, values);
                     sum += deepbench::weighted_sum(weights, values, count);
                   });
    parts[size_t(part)] = sum;
  });
  double total = 0;
  for (double part : parts) total += part;
  return total;
}

}  // namespace

ExpectedOutput expected_memory_output(const Memory& memory, const KernelConditions& conditions) {
  ExpectedOutput expected;
  expected.outputs = uint64_t(memory.output_words());
  if (memory.kind == MemoryKind::kRead) {
    expected.indices = {0};
    expected.values = {double(xor_of_all_words(memory, conditions))};
    expected.bounds = {0};
    expected.coverage = "the xor of all words";
    return expected;
  }
  for (const int64_t place :
       stratified_sample(memory.words(), kSamples, conditions.verification_seed, kPlaces)) {
    expected.indices.push_back(uint64_t(place));
    expected.values.push_back(expected_word(memory, conditions, expected.indices.back()));
    expected.bounds.push_back(0);
  }
  expected.projection_rows = 1;
  expected.projection_seed = conditions.verification_seed;
  expected.projections = {weighted_sum(memory, conditions)};
  // The words are below 2^32 and the weights are at most 1. The backend sums in double as well, but
  // in another order.
  expected.projection_bounds = {1e-15 * 4.3e9 * double(memory.words())};
  expected.coverage = std::to_string(expected.indices.size()) + " of " +
                      std::to_string(memory.words()) + " words and a projection of all";
  return expected;
}

}  // namespace deepbench
