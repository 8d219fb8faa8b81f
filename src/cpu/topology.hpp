// The processors that this process may use: physical cores and their hardware threads within the
// affinity mask and the quota, and the caches that they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system_files.hpp"

namespace deepbench::cpu {

struct Topology {
  std::vector<std::vector<int>> cores;  // the usable hardware threads of each physical core
  double quota_cores = 0;               // 0: no quota
  int online_cpus = 0;                  // processors of the whole machine
  int memory_nodes = 1;                 // memory nodes of the default threads' processors
  // Number of efficiency cores in `cores`; 0 unless the processor is a hybrid.
  int efficiency_cores = 0;
  // The number of ranks that take turns on one core; 1 unless there are more ranks than cores.
  int ranks_on_core = 1;

  // The total size of the default threads' caches at each level; a shared cache counts once.
  int64_t l1_bytes = 0, l2_bytes = 0, last_level_bytes = 0;
  bool has_cache_sizes = false;  // false: last_level_bytes is an assumption

  int hardware_threads() const;
  // One thread for each physical core, limited by the quota, at least one.
  int default_threads() const;
  // The most threads that an operation may have: several for each hardware thread.
  int max_threads() const;
  // The hardware thread for each of `threads` threads: the first one of every core, then the second
  // ones, and so on; after the last one it starts again with the first.
  std::vector<int> cpus_for_threads(int threads) const;
};

// `quota_sharers` is the number of processes that share the quota.
Topology read_topology(const std::vector<int>& affinity, const SystemRoot& root = {},
                       int quota_sharers = 1);

// The number of ranks, including this process, that divide this machine's cores. They share one
// quota: when it is used up, all of them are stopped.
int local_rank_count();

// The topology of this process at the first call. OpenMP's binding later narrows the mask of the
// calling thread to one core.
const Topology& topology();

// Returns `asked` if it is positive, otherwise OMP_NUM_THREADS, which the libraries obey; 0 if
// neither is set.
int64_t requested_threads(int64_t asked);

// The number of threads of an operation: the requested or else the default number, limited by
// max_threads() and by OpenMP (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS).
int thread_count(int64_t asked);

}  // namespace deepbench::cpu
