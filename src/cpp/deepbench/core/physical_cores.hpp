// Groups processors by physical core. Header-only: backends place threads by these groups, and the
// core divides the cores of a machine among the ranks on it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace deepbench {

namespace internal {

// The system's list of the processors of a core, which is the same for each of them; "" if the file
// is missing.
inline std::string siblings_in(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  char line[256] = "";
  if (!file || !std::fgets(line, sizeof line, file.get())) return "";
  const std::string text = line;
  return text.substr(0, text.find('\n'));
}

}  // namespace internal

// One group for each core, in the order of `processors`. `sys` is the folder of sysfs.
inline std::vector<std::vector<int>> group_by_core(const std::vector<int>& processors,
                                                   const std::string& sys = "/sys") {
  std::vector<std::string> known;  // the lists of siblings of the cores
  std::vector<std::vector<int>> cores;
  for (const int cpu : processors) {
    const std::string number = std::to_string(cpu);
    const std::string folder = sys + "/devices/system/cpu/cpu" + number + "/topology/";
    std::string siblings = internal::siblings_in(folder + "core_cpus_list");
    if (siblings.empty()) siblings = internal::siblings_in(folder + "thread_siblings_list");
    if (siblings.empty()) siblings = number;
    const auto at = size_t(std::find(known.begin(), known.end(), siblings) - known.begin());
    if (at == known.size()) known.push_back(siblings), cores.emplace_back();
    cores[at].push_back(cpu);
  }
  return cores;
}

}  // namespace deepbench
