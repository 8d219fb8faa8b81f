// Reading of /sys/devices/system/cpu and of the affinity mask.
#include "topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "limits.hpp"

namespace deepbench::cpu {
namespace {

constexpr int64_t kAssumedLastLevel = int64_t{32} << 20;

struct Cache {
  int level = 0;
  int64_t bytes = 0;
  std::string shared;  // the kernel's own list of the processors behind it: names the instance
};

std::string cpu_folder(const SystemRoot& root, int cpu) {
  return root.sys + "/devices/system/cpu/cpu" + std::to_string(cpu);
}

std::vector<std::vector<int>> group_into_cores(const std::vector<int>& affinity,
                                               const SystemRoot& root) {
  std::map<std::string, size_t> known;
  std::vector<std::vector<int>> cores;
  for (int cpu : affinity) {
    const std::string folder = cpu_folder(root, cpu) + "/topology/";
    auto siblings = read_text(folder + "core_cpus_list");
    if (!siblings) siblings = read_text(folder + "thread_siblings_list");
    const auto [at, is_new] = known.emplace(siblings.value_or(std::to_string(cpu)), cores.size());
    if (is_new) cores.emplace_back();
    cores[at->second].push_back(cpu);
  }
  return cores;
}

std::vector<Cache> read_caches(int cpu, const SystemRoot& root) {
  std::vector<Cache> caches;
  for (int index = 0;; ++index) {
    const std::string folder = cpu_folder(root, cpu) + "/cache/index" + std::to_string(index);
    const auto level = read_integer(folder + "/level");
    if (!level) return caches;
    if (read_text(folder + "/type").value_or("") == "Instruction") continue;
    const int64_t bytes = parse_size(read_text(folder + "/size").value_or(""));
    const auto shared = read_text(folder + "/shared_cpu_list").value_or(std::to_string(cpu));
    if (bytes > 0) caches.push_back({int(*level), bytes, shared});
  }
}

// The C library asks the processor itself, which helps where sysfs lists no caches.
std::vector<Cache> ask_library(int cpu, const SystemRoot& root) {
  std::vector<Cache> caches;
  if (root.sys != SystemRoot().sys) return caches;  // a fixture stands for another machine
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const std::pair<int, int> levels[] = {
      {1, _SC_LEVEL1_DCACHE_SIZE}, {2, _SC_LEVEL2_CACHE_SIZE}, {3, _SC_LEVEL3_CACHE_SIZE}};
  for (const auto& [level, name] : levels) {
    const long bytes = sysconf(name);
    const std::string shared = level == 3 ? "all" : std::to_string(cpu);
    if (bytes > 0) caches.push_back({level, bytes, shared});
  }
#else
  (void)cpu;
#endif
  return caches;
}

void measure_caches(const SystemRoot& root, Topology& topology) {
  std::set<std::pair<int, std::string>> counted;
  std::map<int, int64_t> sums;
  for (int cpu : topology.places(topology.default_threads())) {
    std::vector<Cache> caches = read_caches(cpu, root);
    if (caches.empty()) caches = ask_library(cpu, root);
    for (const Cache& cache : caches) {
      if (counted.emplace(cache.level, cache.shared).second) sums[cache.level] += cache.bytes;
    }
  }
  topology.l1_bytes = sums[1];
  topology.l2_bytes = sums[2];
  topology.caches_known = sums[1] + sums[2] > 0;
  topology.last_level_bytes = topology.caches_known ? sums.rbegin()->second : kAssumedLastLevel;
}

int count_memory_nodes(const Topology& topology, const SystemRoot& root) {
  const std::vector<int> used = topology.places(topology.default_threads());
  const std::string folder = root.sys + "/devices/system/node/";
  int nodes = 0;
  for (int node : parse_cpu_list(read_text(folder + "online").value_or(""))) {
    const auto list = read_text(folder + "node" + std::to_string(node) + "/cpulist");
    const auto cpus = parse_cpu_list(list.value_or(""));
    nodes += std::any_of(cpus.begin(), cpus.end(), [&](int cpu) {
      return std::find(used.begin(), used.end(), cpu) != used.end();
    });
  }
  return std::max(1, nodes);
}

// Intel lists the kinds of cores as two devices; Arm rates each core's capacity.
int count_efficiency_cores(const Topology& topology, const SystemRoot& root) {
  std::set<int> efficient;
  if (const auto atoms = read_text(root.sys + "/devices/cpu_atom/cpus")) {
    const auto cpus = parse_cpu_list(*atoms);
    efficient.insert(cpus.begin(), cpus.end());
  } else {
    int64_t highest = 0;
    std::map<int, int64_t> capacities;
    for (const auto& core : topology.cores) {
      const auto capacity = read_integer(cpu_folder(root, core.front()) + "/cpu_capacity");
      if (capacity) capacities[core.front()] = *capacity, highest = std::max(highest, *capacity);
    }
    for (const auto& [cpu, capacity] : capacities)
      if (capacity < highest) efficient.insert(cpu);
  }
  return int(std::count_if(topology.cores.begin(), topology.cores.end(),
                           [&](const auto& core) { return efficient.count(core.front()) != 0; }));
}

}  // namespace

std::vector<int> read_affinity() {
  std::vector<int> cpus;
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 4) {  // larger machines need larger masks
    cpu_set_t* mask = CPU_ALLOC(size_t(size));
    if (!mask) break;
    const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
    const bool read = sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; read && cpu < size; ++cpu)
      if (CPU_ISSET_S(size_t(cpu), bytes, mask)) cpus.push_back(cpu);
    CPU_FREE(mask);
    if (read) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int Topology::hardware_threads() const {
  int count = 0;
  for (const auto& core : cores) count += int(core.size());
  return count;
}

int Topology::default_threads() const {
  int threads = int(cores.size());
  // Rounded down: a part of a core would be throttled before the period ends.
  if (quota_cores > 0) threads = std::min(threads, int(std::floor(quota_cores + 1e-6)));
  return std::max(1, threads);
}

std::vector<int> Topology::places(int threads) const {
  std::vector<int> order;
  for (size_t sibling = 0; int(order.size()) < hardware_threads(); ++sibling)
    for (const auto& core : cores)
      if (sibling < core.size()) order.push_back(core[sibling]);
  std::vector<int> chosen;
  for (int i = 0; i < threads; ++i) chosen.push_back(order[size_t(i) % order.size()]);
  return chosen;
}

Topology read_topology(const std::vector<int>& affinity, const SystemRoot& root) {
  Topology topology;
  topology.cores = group_into_cores(affinity, root);
  topology.quota_cores = read_limits(root).cores;
  const auto online = read_text(root.sys + "/devices/system/cpu/online");
  topology.online_cpus = int(online ? parse_cpu_list(*online).size() : affinity.size());
  topology.efficiency_cores = count_efficiency_cores(topology, root);
  topology.memory_nodes = count_memory_nodes(topology, root);
  measure_caches(root, topology);
  return topology;
}

const Topology& topology() {
  static const Topology ours = read_topology(read_affinity());
  return ours;
}

int thread_count(int64_t asked) {
  constexpr int64_t kMostThreads = 1 << 16;
  if (asked > 0) return int(std::min(asked, kMostThreads));
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long set = std::strtol(text, nullptr, 10);
    if (set > 0) return int(std::min<int64_t>(set, kMostThreads));
  }
  return topology().default_threads();
}

}  // namespace deepbench::cpu
