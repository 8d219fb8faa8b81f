// Cores, caches and thread placement of machines that fixture files describe.
#include "topology.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device.hpp"
#include "environment.hpp"
#include "harness.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::TemporaryFolder;

SystemRoot root_of(const TemporaryFolder& folder) {
  return {folder.path() + "/sys", folder.path() + "/proc"};
}

void write_cpu(const TemporaryFolder& folder, int cpu, const std::string& siblings,
               const std::string& l3_sharers, const std::string& l3_size = "16384K") {
  const std::string cpu_folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
  folder.write(cpu_folder + "/topology/core_cpus_list", siblings);
  const auto cache = [&](int index, int level, const std::string& type, const std::string& size,
                         const std::string& sharers) {
    const std::string folder_name = cpu_folder + "/cache/index" + std::to_string(index);
    folder.write(folder_name + "/level", std::to_string(level));
    folder.write(folder_name + "/type", type);
    folder.write(folder_name + "/size", size);
    folder.write(folder_name + "/shared_cpu_list", sharers);
  };
  cache(0, 1, "Data", "48K", siblings);
  cache(1, 1, "Instruction", "32K", siblings);
  cache(2, 2, "Unified", "2048K", siblings);
  cache(3, 3, "Unified", l3_size, l3_sharers);
}

// A machine with four cores of two hardware threads and two last-level caches.
void write_machine(const TemporaryFolder& folder) {
  folder.write("sys/devices/system/cpu/online", "0-7");
  for (int core = 0; core < 4; ++core) {
    const std::string siblings = std::to_string(core) + "," + std::to_string(core + 4);
    const std::string sharers = core < 2 ? "0-1,4-5" : "2-3,6-7";
    write_cpu(folder, core, siblings, sharers);
    write_cpu(folder, core + 4, siblings, sharers);
  }
}

TEST_CASE("threads fill each physical core once, then the second hardware threads, then repeat") {
  const TemporaryFolder folder;
  write_machine(folder);
  const Topology topology = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(folder));
  CHECK(topology.cores == std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(topology.hardware_threads() == 8);
  CHECK(topology.online_cpus == 8);
  CHECK(topology.default_threads() == 4);
  CHECK(topology.cpus_for_threads(4) == std::vector<int>{0, 1, 2, 3});
  CHECK(topology.cpus_for_threads(6) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(topology.cpus_for_threads(10) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1});
}

TEST_CASE("caches: the sum over the threads' cores counts shared caches once") {
  const TemporaryFolder folder;
  write_machine(folder);
  const Topology all = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(folder));
  CHECK(all.l1_bytes == 4 * (48 << 10));
  CHECK(all.l2_bytes == 4 * (2 << 20));
  CHECK(all.last_level_bytes == 2 * (16 << 20));
  CHECK(all.has_cache_sizes);
  const Topology one_side = read_topology({0, 1, 4, 5}, root_of(folder));
  CHECK(one_side.l2_bytes == 2 * (2 << 20));
  CHECK(one_side.last_level_bytes == 16 << 20);
}

TEST_CASE("the affinity mask may contain only the second hardware thread of a core") {
  const TemporaryFolder folder;
  write_machine(folder);
  const Topology topology = read_topology({5, 6}, root_of(folder));
  CHECK(topology.cpus_for_threads(2) == std::vector<int>{5, 6});
  CHECK(topology.default_threads() == 2);
  CHECK(topology.online_cpus == 8);
}

TEST_CASE("a quota is rounded down to at least one thread") {
  const auto threads_with = [](const std::string& quota) {
    const TemporaryFolder folder;
    write_machine(folder);
    folder.write("proc/self/cgroup", "0::/job");
    folder.write("proc/self/mountinfo",
                 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw");
    folder.write("sys/fs/cgroup/job/cpu.max", quota + " 100000");
    return read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(folder)).default_threads();
  };
  CHECK(threads_with("max") == 4);
  CHECK(threads_with("250000") == 2);
  CHECK(threads_with("300000") == 3);
  CHECK(threads_with("50000") == 1);
  CHECK(threads_with("900000") == 4);
}

TEST_CASE("without sysfs every processor counts as a core and cache sizes are assumed") {
  const TemporaryFolder folder;
  const Topology topology = read_topology({0, 1, 2}, root_of(folder));
  CHECK(topology.default_threads() == 3);
  CHECK(topology.last_level_bytes == 32 << 20);
  CHECK_FALSE(topology.has_cache_sizes);
}

TEST_CASE("hybrid processors: efficiency cores by Intel's list and Arm's capacities") {
  const TemporaryFolder intel;
  write_machine(intel);
  intel.write("sys/devices/cpu_core/cpus", "0-1,4-5");
  intel.write("sys/devices/cpu_atom/cpus", "2-3,6-7");
  CHECK(read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(intel)).efficiency_cores == 2);
  CHECK(read_topology({0, 1}, root_of(intel)).efficiency_cores == 0);

  const TemporaryFolder arm;
  for (int cpu = 0; cpu < 4; ++cpu) {
    write_cpu(arm, cpu, std::to_string(cpu), "0-3");
    arm.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity",
              cpu < 3 ? "446" : "1024");
  }
  CHECK(read_topology({0, 1, 2, 3}, root_of(arm)).efficiency_cores == 3);
}

TEST_CASE("memory nodes: only those of the processors in use count") {
  const TemporaryFolder folder;
  write_machine(folder);
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(read_topology(all, root_of(folder)).memory_nodes == 1);
  folder.write("sys/devices/system/node/online", "0-1");
  folder.write("sys/devices/system/node/node0/cpulist", "0-1,4-5");
  folder.write("sys/devices/system/node/node1/cpulist", "2-3,6-7");
  CHECK(read_topology(all, root_of(folder)).memory_nodes == 2);
  CHECK(read_topology({2, 3}, root_of(folder)).memory_nodes == 1);
}

TEST_CASE("the topology of this process is valid") {
  const Topology& current = topology();
  CHECK(current.default_threads() >= 1);
  CHECK(current.last_level_bytes > 0);
  CHECK(thread_count(3) == 3);
  const cpu_test::ScopedEnvironmentVariable set("OMP_NUM_THREADS", "5,2");
  CHECK(thread_count(0) == 5);
}

TEST_CASE("threads: absurd numbers of the environment are limited or ignored") {
  const int most = topology().max_threads();
  CHECK(most >= 4 * topology().hardware_threads());
  for (const char* text : {"100000", "99999999999999999999", "1000000000,2"}) {
    const cpu_test::ScopedEnvironmentVariable set("OMP_NUM_THREADS", text);
    CHECK(thread_count(0) == most);
    CHECK(thread_count(1) == 1);
    CHECK(requested_threads(0) > most);
  }
  for (const char* text : {"0", "-1", "abc", ""}) {
    const cpu_test::ScopedEnvironmentVariable set("OMP_NUM_THREADS", text);
    CHECK(requested_threads(0) == 0);
    CHECK(thread_count(0) == topology().default_threads());
  }
}

// With fewer threads than it was told of, oneDNN leaves outputs unwritten.
TEST_CASE("threads: OpenMP's own limits bound them") {
  {
    const cpu_test::ScopedEnvironmentVariable set("OMP_THREAD_LIMIT", "2");
    CHECK(thread_count(3) == 2);
  }
  for (const char* text : {"0", "-3", "x"}) {
    const cpu_test::ScopedEnvironmentVariable set("OMP_THREAD_LIMIT", text);
    CHECK(thread_count(3) == 3);
  }
  const cpu_test::ScopedEnvironmentVariable set("OMP_MAX_ACTIVE_LEVELS", "0");
  CHECK(thread_count(3) == 1);
}

TEST_CASE("every library gets the number of threads and one core for each") {
  const TemporaryFolder folder;
  write_machine(folder);
  const Topology topology = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(folder));
  Isa isa;
  const auto find = [&](int threads, const std::string& name) {
    for (const auto& [key, value] : library_environment(threads, topology, isa))
      if (key == name) return value;
    return std::string("(none)");
  };
  CHECK(find(4, "OMP_NUM_THREADS") == "4");
  CHECK(find(4, "OMP_PROC_BIND") == "true");
  CHECK(find(4, "OMP_PLACES") == "{0},{1},{2},{3}");
  CHECK(find(16, "OMP_PLACES") == "{0},{1},{2},{3},{4},{5},{6},{7}");
  CHECK(find(2, "MKL_NUM_THREADS") == "2");
  CHECK(find(2, "OPENBLAS_NUM_THREADS") == "2");

  isa.vendor = "AuthenticAMD";
  isa.family = 0x1a;
  CHECK(find(2, "OPENBLAS_CORETYPE") == "(none)");
  isa.avx512 = true;
  CHECK(find(2, "OPENBLAS_CORETYPE") == "SkylakeX");
  isa.family = 0x19;
  CHECK(find(2, "OPENBLAS_CORETYPE") == "(none)");
  isa.vendor = "GenuineIntel";
  CHECK(find(2, "OPENBLAS_CORETYPE") == "(none)");
}

TEST_CASE("warnings: governor, load, hybrid cores, too many threads") {
  const TemporaryFolder folder;
  write_machine(folder);
  folder.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some Processor 9000\nflags\t: a b");
  folder.write("proc/loadavg", "6.50 3.00 1.00 5/812 4242");
  for (int cpu = 0; cpu < 8; ++cpu)
    folder.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor",
                 "powersave");
  folder.write("sys/devices/cpu_atom/cpus", "3,7");
  const SystemRoot root = root_of(folder);
  const Topology topology = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root);
  CHECK(cpu_name(root) == "Some Processor 9000");
  CHECK(frequency_governor({0, 1}, root) == "powersave");

  const auto found = device_warnings(topology, 6, root);
  const auto text = [&](const std::string& name) {
    for (const auto& [key, value] : found)
      if (key == name) return value;
    return std::string();
  };
  CHECK(text("governor").find("powersave") != std::string::npos);
  CHECK(text("load").find("6.5") != std::string::npos);
  CHECK(text("hybrid").find("1 of 4") != std::string::npos);
  CHECK(text("threads").find("6 threads on 4 physical cores") != std::string::npos);
  CHECK(text("caches").empty());

  Topology crowded = topology;
  crowded.ranks_on_core = 3;
  const auto of_crowded = device_warnings(crowded, 4, root);
  CHECK(std::count_if(of_crowded.begin(), of_crowded.end(), [](const auto& one) {
          return one.first == "ranks" && one.second.find("3 ranks take turns") == 0;
        }) == 1);
  CHECK(text("ranks").empty());

  // The load average is high, but fewer than a fifth of the processors have work at present: the
  // other thread is that of the command itself.
  folder.write("proc/loadavg", "6.50 3.00 1.00 2/812 4242");
  for (int cpu = 0; cpu < 8; ++cpu)
    folder.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor",
                 "performance");
  const auto later = device_warnings(topology, 4, root);
  REQUIRE(later.size() == 1);
  CHECK(later[0].first == "hybrid");
}

TEST_CASE("a warning about an exceeded quota comes first") {
  const TemporaryFolder folder;
  write_machine(folder);
  Topology topology = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root_of(folder));
  topology.quota_cores = 1.5;
  const auto found = device_warnings(topology, 2, root_of(folder));
  REQUIRE(found.size() == 1);
  CHECK(found[0].second.find("a quota of 1.5 cores") != std::string::npos);
  CHECK(found[0].second.find("--threads 1") != std::string::npos);
}

}  // namespace
}  // namespace deepbench::cpu
