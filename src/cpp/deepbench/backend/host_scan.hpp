// Scans outputs in host memory for elements that were not written or are not finite. Header-only,
// for backends; host_elements.hpp defines `Workers`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/backend/host_elements.hpp"
#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/plugin.h"

namespace deepbench::plugin {

struct PoisonMarks {
  uint64_t poison, mask;
};

struct ScanCounts {
  uint64_t untouched = 0, non_finite = 0;
};

template <class Word>
inline DEEPBENCH_VECTOR_INLINED ScanCounts scan_loop(const Word* data, const Word* restored,
                                                     uint64_t begin, uint64_t end,
                                                     PoisonMarks marks) {
  // Keeps the inner counters within 32 bits, which vectorize better.
  constexpr uint64_t kBlock = 1 << 14;
  const auto poison = static_cast<Word>(marks.poison), mask = static_cast<Word>(marks.mask);
  ScanCounts total;
  for (uint64_t first = begin; first < end; first += kBlock) {
    const uint64_t last = first + kBlock < end ? first + kBlock : end;
    uint32_t untouched = 0, non_finite = 0;
    for (uint64_t i = first; i < last; ++i) {
      const Word word = data[i];
      const bool same = word == (restored ? restored[i] : poison);
      untouched += same;
      non_finite += mask != 0 && (word & mask) == mask && !same;
    }
    total.untouched += untouched, total.non_finite += non_finite;
  }
  return total;
}

DEEPBENCH_VECTOR_CLONES inline ScanCounts scan_words(const uint32_t* data, const uint32_t* restored,
                                                     uint64_t begin, uint64_t end,
                                                     PoisonMarks marks) {
  if (!restored) return scan_loop<uint32_t>(data, nullptr, begin, end, marks);
  return scan_loop(data, restored, begin, end, marks);
}

DEEPBENCH_VECTOR_CLONES inline ScanCounts scan_words(const uint16_t* data, const uint16_t* restored,
                                                     uint64_t begin, uint64_t end,
                                                     PoisonMarks marks) {
  if (!restored) return scan_loop<uint16_t>(data, nullptr, begin, end, marks);
  return scan_loop(data, restored, begin, end, marks);
}

template <class Word>
ScanCounts scan_words(const Word* data, const Word* restored, uint64_t begin, uint64_t end,
                      PoisonMarks marks) {
  return scan_loop(data, restored, begin, end, marks);
}

// Returns count, untouched and non_finite of a poisoned output. For an output in place, `restored`
// holds the initial values, and an element that still has its initial value is untouched.
template <class Workers>
deepbench_scan scan(Workers& workers, const void* data, deepbench_type type, uint64_t count,
                    const void* restored = nullptr) {
  std::vector<ScanCounts> parts(workers.size());
  const PoisonMarks marks = {poison_bits(type), non_finite_mask(type)};
  with_word_type(type, [&](auto* word) {
    using Word = std::remove_pointer_t<decltype(word)>;
    const auto* words = static_cast<const Word*>(data);
    const auto* before = static_cast<const Word*>(restored);
    workers.parallel_for(count, kHostGrain, [&](uint64_t begin, uint64_t end, size_t worker) {
      parts[worker] = scan_words(words, before, begin, end, marks);
    });
  });
  deepbench_scan total = {sizeof(deepbench_scan), count, 0, 0};
  for (const ScanCounts& part : parts)
    total.untouched += part.untouched, total.non_finite += part.non_finite;
  return total;
}

}  // namespace deepbench::plugin
