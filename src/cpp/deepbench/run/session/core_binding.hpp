// Divides the processors of a machine among its ranks, by whole physical cores.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {

// The place of one rank among `count` ranks with the same processors.
struct CoreShare {
  int index = 0, count = 1;
};

// The shares by rank. Ranks with the same list of processors share them; a launcher may already
// have given each rank other processors.
DEEPBENCH_API std::vector<CoreShare> core_shares(const std::vector<std::string>& processors);

// Returns the processors of a share: all hardware threads of its cores. A share is one core if
// there are fewer cores than ranks.
DEEPBENCH_API std::vector<int> processors_of_share(const std::vector<std::vector<int>>& cores,
                                                   CoreShare share);

// The largest number of these ranks on one core.
DEEPBENCH_API int max_ranks_per_core(size_t cores, int ranks);

// Restricts this process to its share. Must run before a backend is loaded. Sets
// DEEPBENCH_RANKS_PER_MACHINE, the number of ranks that share a container's quota, and
// DEEPBENCH_RANKS_PER_CORE, the number of ranks that share a core.
void bind_to_core_share(Group& group);

}  // namespace deepbench
