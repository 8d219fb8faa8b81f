// Reads the device's clocks.
#include "clock_stamps.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "device.hpp"

namespace deepbench::cuda {

ClockStamps::ClockStamps(const Stream& stream)
    : function_(function("clock", "stamp", stream)),
      multiprocessors_(uint32_t(device_facts(stream.device()).multiprocessors)),
      memory_(2 * multiprocessors_ * sizeof(ClockStamp), /*pageable=*/false) {}

ClockStamp* ClockStamps::stamps(int which) const {
  return reinterpret_cast<ClockStamp*>(memory_.data()) + uint32_t(which) * multiprocessors_;
}

void ClockStamps::stamp(int which, nvidia::cudaStream_t stream) const {
  LaunchShape shape;
  shape.grid_x = multiprocessors_;
  function_.launch(shape, stream, static_cast<void*>(stamps(which)));
}

// Counters of different multiprocessors are not comparable: stamps are matched by multiprocessor,
// in a table instead of a map, because every batch does this.
double median_mhz(const ClockStamp* before, const ClockStamp* after, size_t count) {
  constexpr uint32_t kMaxNumbers = 1024;
  // The nanosecond counter has coarse ticks: over a shorter time the quotient is inaccurate.
  constexpr uint64_t kShortestNs = 50000;
  std::array<const ClockStamp*, kMaxNumbers> first = {};
  for (const ClockStamp* stamp = before; stamp != before + count; ++stamp)
    if (stamp->multiprocessor < kMaxNumbers) first[stamp->multiprocessor] = stamp;
  std::vector<double> found;
  found.reserve(count);
  for (const ClockStamp* last = after; last != after + count; ++last) {
    const ClockStamp* const stamp =
        last->multiprocessor < kMaxNumbers ? first[last->multiprocessor] : nullptr;
    if (!stamp || last->nanoseconds < stamp->nanoseconds + kShortestNs) continue;
    const double nanoseconds = double(last->nanoseconds - stamp->nanoseconds);
    found.push_back(double(last->clock - stamp->clock) / nanoseconds * 1e3);
  }
  if (found.empty()) return 0;
  std::nth_element(found.begin(), found.begin() + found.size() / 2, found.end());
  return found[found.size() / 2];
}

}  // namespace deepbench::cuda
