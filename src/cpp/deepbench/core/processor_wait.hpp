// Measures how long the threads of this process were ready to run while other work held their
// processors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Linux counts for each thread the time for which it was ready and did not run, whether it was
// preempted, woken late, or held back by the quota of its container. The count of a thread that has
// its processor to itself hardly changes.
class DEEPBENCH_API ProcessorWait {
 public:
  explicit ProcessorWait(std::string tasks = "/proc/self/task");
  ~ProcessorWait();

  // The longest wait of a thread since construction or since the previous call, in nanoseconds.
  // Empty: the system does not count it.
  std::optional<double> lap_ns();

 private:
  class Thread;

  void find_threads();

  const std::string tasks_;
  size_t links_ = 0;  // number of links to the folder of tasks, which has one for each thread
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace deepbench
