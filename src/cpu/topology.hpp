// The processors that this process may use: physical cores and their hardware threads within the
// affinity mask and the quota, and the caches they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system_files.hpp"

namespace deepbench::cpu {

struct Topology {
  std::vector<std::vector<int>> cores;  // usable hardware threads of each physical core
  double quota_cores = 0;               // 0: no quota
  int online_cpus = 0;                  // of the whole machine
  int memory_nodes = 1;                 // that the default threads' processors belong to
  int efficiency_cores = 0;             // of `cores`, where the processor is a hybrid; else 0
  int ranks_on_core = 1;                // that take turns, where there are more ranks than cores

  // What the default threads' cores have together at each level, every shared cache once.
  int64_t l1_bytes = 0, l2_bytes = 0, last_level_bytes = 0;
  bool has_cache_sizes = false;  // false: last_level_bytes is an assumption

  int hardware_threads() const;
  // One thread per physical core, within the quota, at least one.
  int default_threads() const;
  // The hardware thread for each of `threads` threads: first one on every core, then the cores'
  // second threads, and so on; when all are taken it begins again.
  std::vector<int> cpus_for_threads(int threads) const;
};

// `quota_sharers`: so many processes have the quota together.
Topology read_topology(const std::vector<int>& affinity, const SystemRoot& root = {},
                       int quota_sharers = 1);

// How many ranks, this process among them, divide this machine's cores. One quota stops them all,
// whichever of them used it up.
int local_rank_count();

// This process' topology as it was when it was first asked for: OpenMP's binding later narrows
// the mask of the thread that calls it to one core.
const Topology& topology();

// How many threads an operation runs on: `asked` if positive, else OMP_NUM_THREADS, which the
// libraries obey, else the default.
int thread_count(int64_t asked);

}  // namespace deepbench::cpu
