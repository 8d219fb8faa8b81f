// Reads /sys/devices/system/cpu and the affinity mask.
#include "topology.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "cgroup_limits.hpp"
#include "deepbench/core/affinity.hpp"
#include "deepbench/core/physical_cores.hpp"

namespace deepbench::cpu {
namespace {

constexpr int64_t kAssumedLastLevel = int64_t{32} << 20;

struct Cache {
  int level = 0;
  int64_t bytes = 0;
  // The list of the processors that share the cache, which identifies the cache.
  std::string shared;
};

std::string cpu_folder(const SystemRoot& root, int cpu) {
  return root.sys + "/devices/system/cpu/cpu" + std::to_string(cpu);
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

// The C library asks the processor, which works where sysfs lists no caches.
std::vector<Cache> caches_from_sysconf(int cpu, const SystemRoot& root) {
  std::vector<Cache> caches;
  // A fixture of a test describes another machine.
  if (root.sys != SystemRoot().sys) return caches;
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

void sum_cache_sizes(const SystemRoot& root, Topology& topology) {
  constexpr int kLevels = 5;  // level 0 stays unused
  std::vector<Cache> counted;
  int64_t sums[kLevels] = {};
  int last = 0;
  for (int cpu : topology.cpus_for_threads(topology.default_threads())) {
    std::vector<Cache> caches = read_caches(cpu, root);
    if (caches.empty()) caches = caches_from_sysconf(cpu, root);
    for (const Cache& cache : caches) {
      const auto same = [&](const Cache& other) {
        return other.level == cache.level && other.shared == cache.shared;
      };
      if (cache.level <= 0 || cache.level >= kLevels) continue;
      if (std::any_of(counted.begin(), counted.end(), same)) continue;
      counted.push_back(cache);
      sums[cache.level] += cache.bytes;
      last = std::max(last, cache.level);
    }
  }
  topology.l1_bytes = sums[1];
  topology.l2_bytes = sums[2];
  topology.has_cache_sizes = last > 0;
  topology.last_level_bytes = last > 0 ? sums[last] : kAssumedLastLevel;
}

int count_memory_nodes(const Topology& topology, const SystemRoot& root) {
  const std::vector<int> used = topology.cpus_for_threads(topology.default_threads());
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

// Intel lists the kinds of cores as two devices; Arm rates the capacity of each core.
int count_efficiency_cores(const Topology& topology, const SystemRoot& root) {
  const auto atoms = read_text(root.sys + "/devices/cpu_atom/cpus");
  const std::vector<int> efficient = parse_cpu_list(atoms.value_or(""));
  std::vector<int64_t> capacities;
  int64_t highest = 0;
  for (const auto& core : topology.cores) {
    const bool listed =
        std::find(efficient.begin(), efficient.end(), core.front()) != efficient.end();
    const auto rated = read_integer(cpu_folder(root, core.front()) + "/cpu_capacity");
    capacities.push_back(listed ? 0 : atoms ? 1 : rated.value_or(0));
    highest = std::max(highest, capacities.back());
  }
  return int(std::count_if(capacities.begin(), capacities.end(),
                           [&](int64_t capacity) { return capacity < highest; }));
}

int count_in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? int(std::max(1L, std::strtol(text, nullptr, 10))) : 1;
}

// 0 if the variable is not set or begins with no positive number.
int64_t positive_in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::max(0L, std::strtol(text, nullptr, 10)) : 0;
}

// The most threads that OpenMP grants to a parallel region.
int64_t openmp_limit() {
  const char* levels = std::getenv("OMP_MAX_ACTIVE_LEVELS");
  if (levels && std::string(levels) == "0") return 1;
  const int64_t limit = positive_in_environment("OMP_THREAD_LIMIT");
  return limit > 0 ? limit : std::numeric_limits<int64_t>::max();
}

}  // namespace

int Topology::hardware_threads() const {
  int count = 0;
  for (const auto& core : cores) count += int(core.size());
  return count;
}

int Topology::default_threads() const {
  int threads = int(cores.size());
  // The quota is rounded down: a thread on a fraction of a core would be throttled before the
  // period ends.
  if (quota_cores > 0) threads = std::min(threads, int(std::floor(quota_cores + 1e-6)));
  return std::max(1, threads);
}

// Threads that wait actively keep one another from the processors: with a thousand of them on two
// processors, the work hardly proceeds.
int Topology::max_threads() const {
  constexpr int kOnOneProcessor = 4, kAtLeast = 8;
  return std::max(kAtLeast, kOnOneProcessor * hardware_threads());
}

std::vector<int> Topology::cpus_for_threads(int threads) const {
  std::vector<int> order;
  for (size_t sibling = 0; int(order.size()) < hardware_threads(); ++sibling)
    for (const auto& core : cores)
      if (sibling < core.size()) order.push_back(core[sibling]);
  std::vector<int> chosen;
  for (int i = 0; i < threads; ++i) chosen.push_back(order[size_t(i) % order.size()]);
  return chosen;
}

Topology read_topology(const std::vector<int>& affinity, const SystemRoot& root,
                       int quota_sharers) {
  Topology topology;
  topology.cores = group_by_core(affinity, root.sys);
  topology.quota_cores = read_cgroup_limits(root).cores / quota_sharers;
  const auto online = read_text(root.sys + "/devices/system/cpu/online");
  topology.online_cpus = int(online ? parse_cpu_list(*online).size() : affinity.size());
  topology.efficiency_cores = count_efficiency_cores(topology, root);
  topology.memory_nodes = count_memory_nodes(topology, root);
  sum_cache_sizes(root, topology);
  return topology;
}

int local_rank_count() { return count_in_environment("DEEPBENCH_RANKS_PER_MACHINE"); }

const Topology& topology() {
  static const Topology host = [] {
    std::vector<int> allowed = read_affinity();
    if (allowed.empty()) allowed.push_back(0);
    Topology read = read_topology(allowed, {}, local_rank_count());
    read.ranks_on_core = count_in_environment("DEEPBENCH_RANKS_PER_CORE");
    return read;
  }();
  return host;
}

int64_t requested_threads(int64_t asked) {
  return asked > 0 ? asked : positive_in_environment("OMP_NUM_THREADS");
}

int thread_count(int64_t asked) {
  const int64_t requested = requested_threads(asked);
  const int64_t wanted = requested > 0 ? requested : topology().default_threads();
  return int(std::min({wanted, int64_t{topology().max_threads()}, openmp_limit()}));
}

}  // namespace deepbench::cpu
