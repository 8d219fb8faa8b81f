// Divides the numbers between the first and the last one into parts whose sizes differ by at most
// one.
#include "deepbench/core/stratified_sample.hpp"

#include <cstddef>
#include <numeric>

#include "deepbench/fill.h"

namespace deepbench {

std::vector<int64_t> stratified_sample(int64_t size, int64_t count, uint64_t seed, uint32_t stream,
                                       uint64_t number) {
  if (size <= count) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const int64_t ends = count == 1 ? 0 : 2, parts = count - ends;
  std::vector<int64_t> chosen;
  chosen.reserve(static_cast<size_t>(count));
  if (ends > 0) chosen.push_back(0);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t least = (size - ends) / parts, rest = (size - ends) % parts;
    const auto begin_of = [&](int64_t part) { return part * least + part * rest / parts; };
    const uint64_t bits = deepbench_bits(seed, stream, (number << 32) + uint64_t(i));
    chosen.push_back(ends / 2 + begin_of(i) +
                     int64_t(bits % uint64_t(begin_of(i + 1) - begin_of(i))));
  }
  if (ends > 0) chosen.push_back(size - 1);
  return chosen;
}

}  // namespace deepbench
