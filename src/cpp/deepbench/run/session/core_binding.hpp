// The processors of a machine that several ranks share: each takes a part of its own, whole cores.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {

// One of `count` ranks with the same processors.
struct CoreShare {
  int index = 0, count = 1;
};

// By rank. Ranks share what is called the same; whoever started them may have given each its own.
DEEPBENCH_API std::vector<CoreShare> core_shares(const std::vector<std::string>& processors);

// The part of `cores`, each with its hardware threads, that falls to a share; one core where there
// are fewer than ranks.
DEEPBENCH_API std::vector<int> cores_of_share(const std::vector<std::vector<int>>& cores,
                                              CoreShare share);

// How many of these ranks are on the core that has most of them.
DEEPBENCH_API int max_ranks_per_core(size_t cores, int ranks);

// Narrows this process to its part, before any backend has looked at its processors, and tells
// backends by DEEPBENCH_RANKS_PER_MACHINE how many share a container's quota, by
// DEEPBENCH_RANKS_PER_CORE how many take turns on a core.
void bind_to_core_share(Group& group);

}  // namespace deepbench
