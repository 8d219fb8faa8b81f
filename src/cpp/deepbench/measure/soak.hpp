// The course of a soak: how time and clock change while a device computes without pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"

namespace deepbench {

// Consecutive batches of a soak.
struct SoakPart {
  int64_t calls = 0, batches = 0;
  int64_t throttled = 0;     // number of throttled batches
  int64_t power_capped = 0;  // number of batches under the software power cap
  int64_t clocked = 0;       // number of batches whose clock is known
  double elapsed_ns = 0;     // device time of the calls
  double clock_mhz = 0;      // mean over the clocked batches; 0: there are none
};

// However long a soak is, its course has at most kMaxParts parts, each of the same number of
// batches, except for the last one, which may have fewer.
class DEEPBENCH_API SoakCourse {
 public:
  static constexpr size_t kMaxParts = 100;

  void add(const Batch& batch, bool is_throttled);
  const std::vector<SoakPart>& parts() const { return parts_; }
  // Sets the parts of a course that another process recorded.
  void set_parts(std::vector<SoakPart> parts) { parts_ = std::move(parts); }

 private:
  void merge_neighbors();

  std::vector<SoakPart> parts_;
  int64_t batches_of_part_ = 1;
};

}  // namespace deepbench
