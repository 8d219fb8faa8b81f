// The places that represent a range that is too large to compare in full.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Returns `count` numbers of [0, size) in ascending order, where `count` is at least 1: the first,
// the last, and a random number from each of `count` - 2 equal parts between them. A single number
// is random. Returns all numbers if there are at most `count`. `number` distinguishes the samples
// that use the same stream of random numbers.
DEEPBENCH_API std::vector<int64_t> stratified_sample(int64_t size, int64_t count, uint64_t seed,
                                                     uint32_t stream, uint64_t number = 0);

}  // namespace deepbench
