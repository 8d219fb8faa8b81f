// Parses /proc/self/{cgroup,mountinfo}, cpu.max, cpu.cfs_quota_us, memory.max and similar files.
#include "cgroup_limits.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace deepbench::cpu {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 writes "no limit" as nearly 2^63

bool contains(const std::string& list, const std::string& word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The path of this process in the hierarchy of `controller`; "" selects the only hierarchy of
// version 2.
std::string cgroup_path(const std::vector<std::string>& groups, const std::string& controller) {
  for (const std::string& line : groups) {  // "4:memory:/path", "0::/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : contains(controllers, controller))
      return line.substr(second + 1);
  }
  return "";
}

struct Mount {
  std::string root, point, type, options;
};

std::vector<Mount> read_mounts(const SystemRoot& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : read_lines(root.proc + "/self/mountinfo")) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    std::string point = before[4];
    if (point.compare(0, 5, "/sys/") == 0) point = root.sys + point.substr(4);
    mounts.push_back({before[3], point, after[0], after[2]});
  }
  return mounts;
}

// The folders from this process's group up to the mount, innermost first.
std::vector<std::string> group_folders(const Mount& mount, std::string path) {
  // A mount shows the hierarchy below its root. In another namespace the path may lie outside it.
  if (mount.root != "/") {
    const bool below = path.compare(0, mount.root.size(), mount.root) == 0;
    path = below ? path.substr(mount.root.size()) : "";
  }
  std::vector<std::string> folders;
  while (path.size() > 1) {
    folders.push_back(mount.point + path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  folders.push_back(mount.point);
  return folders;
}

void limit_cores(double quota, double period, CgroupLimits& limits) {
  if (quota <= 0 || period <= 0) return;
  limits.cores = limits.cores > 0 ? std::min(limits.cores, quota / period) : quota / period;
}

void limit_memory(int64_t bytes, int64_t used, int64_t reclaimable, CgroupLimits& limits) {
  if (bytes <= 0 || bytes >= kNoLimit) return;
  if (limits.memory_bytes != 0 && limits.memory_bytes <= bytes) return;
  limits.memory_bytes = bytes;
  limits.memory_used_bytes = std::max<int64_t>(0, used - reclaimable);
}

void apply_version_2(const std::string& folder, CgroupLimits& limits) {
  if (const auto text = read_text(folder + "/cpu.max")) {  // "max 100000" or "150000 100000"
    double quota = 0, period = 0;
    if (std::sscanf(text->c_str(), "%lf %lf", &quota, &period) == 2)
      limit_cores(quota, period, limits);
  }
  if (const auto bytes = read_integer(folder + "/memory.max")) {
    limit_memory(*bytes, read_integer(folder + "/memory.current").value_or(0),
                 find_field(read_lines(folder + "/memory.stat"), "inactive_file").value_or(0),
                 limits);
  }
}

void apply_version_1(const std::string& folder, CgroupLimits& limits) {
  const auto quota = read_integer(folder + "/cpu.cfs_quota_us");
  const auto period = read_integer(folder + "/cpu.cfs_period_us");
  if (quota && period) limit_cores(double(*quota), double(*period), limits);
  if (const auto bytes = read_integer(folder + "/memory.limit_in_bytes")) {
    const auto stat = read_lines(folder + "/memory.stat");
    limit_memory(*bytes, read_integer(folder + "/memory.usage_in_bytes").value_or(0),
                 find_field(stat, "total_inactive_file").value_or(0), limits);
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const SystemRoot& root) {
  const auto groups = read_lines(root.proc + "/self/cgroup");
  CgroupLimits limits;
  for (const Mount& mount : read_mounts(root)) {
    if (mount.type == "cgroup2") {
      for (const auto& folder : group_folders(mount, cgroup_path(groups, "")))
        apply_version_2(folder, limits);
    } else if (mount.type == "cgroup") {
      for (const char* controller : {"cpu", "memory"}) {
        if (!contains(mount.options, controller)) continue;
        for (const auto& folder : group_folders(mount, cgroup_path(groups, controller)))
          apply_version_1(folder, limits);
      }
    }
  }
  return limits;
}

MemoryState read_memory(const SystemRoot& root) {
  const auto lines = read_lines(root.proc + "/meminfo");
  MemoryState memory;
  memory.total_bytes = find_field(lines, "MemTotal").value_or(0) << 10;
  memory.available_bytes = find_field(lines, "MemAvailable").value_or(0) << 10;
  const CgroupLimits limits = read_cgroup_limits(root);
  if (limits.memory_bytes > 0) {
    const int64_t left = std::max<int64_t>(0, limits.memory_bytes - limits.memory_used_bytes);
    memory.total_bytes = std::min(memory.total_bytes, limits.memory_bytes);
    memory.available_bytes = std::min(memory.available_bytes, left);
  }
  return memory;
}

}  // namespace deepbench::cpu
