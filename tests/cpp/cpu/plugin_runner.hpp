// Whole rows of the CPU backend, loaded as a plugin.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "../paths.hpp"
#include "deepbench/core/affinity.hpp"
#include "deepbench/run/session/runner.hpp"

namespace deepbench::cpu_test {

// A plugin counts its processors when it is first asked for them, and tests before may have bound
// this thread: every test that loads it lets the thread run anywhere first.
inline std::string plugin_of_unbound_thread() {
  constexpr int kMostProcessors = 1024;
  std::vector<int> all(kMostProcessors);
  std::iota(all.begin(), all.end(), 0);
  set_affinity(all);
  return std::string(testing::stage_folder()) + "/libdeepbench_cpu.so";
}

inline Row run_row(const std::string& line) {
  static Runner runner(plugin_of_unbound_thread(), "ceilings=no samples=3");
  return runner.run(line, 0);
}

}  // namespace deepbench::cpu_test
