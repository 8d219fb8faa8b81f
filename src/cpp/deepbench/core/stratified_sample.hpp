// The places that represent a range that is too large to compare in full.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

// `count`, at least 1, ascending numbers of [0, size): the first, the last, and a random one of
// each of as many equal parts between them as are left. A single one is random. All numbers if
// there are at most `count`. `number` tells apart the samples that one stream of random numbers
// gives.
DEEPBENCH_API std::vector<int64_t> stratified_sample(int64_t size, int64_t count, uint64_t seed,
                                                     uint32_t stream, uint64_t number = 0);

}  // namespace deepbench
