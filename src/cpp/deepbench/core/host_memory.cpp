// Reads MemAvailable from /proc/meminfo.
#include "deepbench/core/host_memory.hpp"

#include <cstdio>
#include <memory>

namespace deepbench {

double host_memory_available() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/meminfo", "re"),
                                                             &std::fclose);
  if (!file) return 0;
  char line[256];
  double kibibytes = 0;
  while (std::fgets(line, sizeof line, file.get()))
    if (std::sscanf(line, "MemAvailable: %lf kB", &kibibytes) == 1) return kibibytes * 1024;
  return 0;
}

}  // namespace deepbench
