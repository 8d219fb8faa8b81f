// The energy that the machine's processors and their memory consume, from the counters of Linux's
// powercap (RAPL), which usually only root may read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system_files.hpp"

namespace deepbench::cpu {

// Adds up the counters of all packages and of their memory, which a package's own counter excludes.
// Each counter wraps around at its range, after some minutes at least.
class EnergyCounter {
 public:
  explicit EnergyCounter(const SystemRoot& root = {});

  // Whether there is a package, and all counters can be read.
  bool is_readable() const { return readable_; }

  // Joules since construction. Throws plugin::Error if a counter cannot be read.
  double joules();

 private:
  struct Zone {
    std::string folder;
    int64_t range_uj;
    int64_t last_uj;
  };

  void add_zone(const std::string& folder);

  std::vector<Zone> zones_;
  bool readable_ = false;
  double joules_ = 0;
};

// The counter of this machine, which lives as long as the process.
EnergyCounter& machine_energy();

}  // namespace deepbench::cpu
