// CPU quotas and memory limits of control groups, versions 1 and 2, from fixture files.
#include "cgroup_limits.hpp"

#include <doctest/doctest.h>

#include <string>

#include "harness.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::TemporaryFolder;

SystemRoot root_of(const TemporaryFolder& folder) {
  return {folder.path() + "/sys", folder.path() + "/proc"};
}

constexpr const char* kMeminfo =
    "MemTotal:       16384 kB\nMemFree:         1000 kB\nMemAvailable:    8192 kB";
constexpr int64_t kKiB = 1024;

TEST_CASE("without groups the limits are those of the machine") {
  const TemporaryFolder folder;
  folder.write("proc/meminfo", kMeminfo);
  const CgroupLimits limits = read_cgroup_limits(root_of(folder));
  CHECK(limits.cores == 0);
  CHECK(limits.memory_bytes == 0);
  const MemoryState memory = read_memory(root_of(folder));
  CHECK(memory.total_bytes == 16384 * kKiB);
  CHECK(memory.available_bytes == 8192 * kKiB);
}

TEST_CASE("version 2: the tightest limit of a group and its ancestors counts") {
  const TemporaryFolder folder;
  folder.write("proc/meminfo", kMeminfo);
  folder.write("proc/self/cgroup", "0::/outer/inner");
  folder.write("proc/self/mountinfo",
               "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw");
  folder.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000");
  folder.write("sys/fs/cgroup/outer/cpu.max", "350000 100000");
  folder.write("sys/fs/cgroup/outer/inner/memory.max", "4194304");
  folder.write("sys/fs/cgroup/outer/inner/memory.current", "3145728");
  folder.write("sys/fs/cgroup/outer/inner/memory.stat", "anon 100\ninactive_file 1048576\nfile 7");
  folder.write("sys/fs/cgroup/outer/memory.max", "max");
  const CgroupLimits limits = read_cgroup_limits(root_of(folder));
  CHECK(limits.cores == doctest::Approx(3.5));
  CHECK(limits.memory_bytes == 4 << 20);
  CHECK(limits.memory_used_bytes == 2 << 20);  // Excludes memory that can be reclaimed.
  const MemoryState memory = read_memory(root_of(folder));
  CHECK(memory.total_bytes == 4 << 20);
  CHECK(memory.available_bytes == 2 << 20);
}

TEST_CASE("version 1: separate controllers, in combined mounts") {
  const TemporaryFolder folder;
  folder.write("proc/meminfo", kMeminfo);
  folder.write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/");
  folder.write("proc/self/mountinfo",
               "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
               "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory");
  folder.write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "150000");
  folder.write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000");
  folder.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  folder.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  folder.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "8388608");
  folder.write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "2097152");
  folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const CgroupLimits limits = read_cgroup_limits(root_of(folder));
  CHECK(limits.cores == doctest::Approx(1.5));
  CHECK(limits.memory_bytes == 8 << 20);
  CHECK(limits.memory_used_bytes == 2 << 20);
}

TEST_CASE("inside a container the mount shows the group as its root") {
  const TemporaryFolder folder;
  folder.write("proc/self/cgroup", "0::/kubepods/pod1/box");
  folder.write("proc/self/mountinfo",
               "30 23 0:26 /kubepods/pod1 /sys/fs/cgroup ro - cgroup2 cgroup rw");
  folder.write("sys/fs/cgroup/box/cpu.max", "200000 100000");
  CHECK(read_cgroup_limits(root_of(folder)).cores == doctest::Approx(2));

  // Another namespace: only the mount is visible.
  folder.write("proc/self/cgroup", "0::/elsewhere");
  folder.write("sys/fs/cgroup/cpu.max", "400000 100000");
  CHECK(read_cgroup_limits(root_of(folder)).cores == doctest::Approx(4));
}

TEST_CASE("malformed files imply no limit") {
  const TemporaryFolder folder;
  folder.write("proc/self/cgroup", "nonsense\n::::\n0");
  folder.write("proc/self/mountinfo",
               "short line\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n - - -");
  folder.write("sys/fs/cgroup/cpu.max", "many few");
  folder.write("sys/fs/cgroup/memory.max", "");
  const CgroupLimits limits = read_cgroup_limits(root_of(folder));
  CHECK(limits.cores == 0);
  CHECK(limits.memory_bytes == 0);
}

TEST_CASE("lists of processors, sizes and fields") {
  CHECK(parse_cpu_list("0-3,8,10-11") == std::vector<int>{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list("x,-1,5-3").empty());
  CHECK(parse_size("48K") == 48 << 10);
  CHECK(parse_size("32M") == 32 << 20);
  CHECK(parse_size("512") == 512);
  CHECK(parse_size("big") == 0);
  const std::vector<std::string> lines = {"inactive_file_x 5", "inactive_file 7", "A:   9 kB",
                                          "B:"};
  CHECK(find_field(lines, "inactive_file") == 7);
  CHECK(find_field(lines, "A") == 9);
  CHECK_FALSE(find_field(lines, "B").has_value());
  CHECK_FALSE(find_field(lines, "C").has_value());
}

}  // namespace
}  // namespace deepbench::cpu
