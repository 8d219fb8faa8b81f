// Reading the device's clocks.
#include "clock_stamps.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "device.hpp"

namespace deepbench::cuda {

ClockStamps::ClockStamps(const Stream& stream)
    : function_(function("clock", "stamp", stream)),
      multiprocessors_(uint32_t(device_facts(stream.device()).multiprocessors)),
      memory_(2 * multiprocessors_ * sizeof(Stamp), /*pageable=*/false) {}

ClockStamps::Stamp* ClockStamps::stamps(int which) const {
  return reinterpret_cast<Stamp*>(memory_.data()) + uint32_t(which) * multiprocessors_;
}

void ClockStamps::stamp(int which, nvidia::cudaStream_t stream) const {
  Shape shape;
  shape.grid_x = multiprocessors_;
  function_.launch(shape, stream, static_cast<void*>(stamps(which)));
}

// Counters differ between multiprocessors: only stamps of the same one can be subtracted.
double ClockStamps::mhz() const {
  std::map<uint32_t, Stamp> before;
  for (uint32_t i = 0; i < multiprocessors_; ++i)
    before.emplace(stamps(0)[i].multiprocessor, stamps(0)[i]);
  std::vector<double> found;
  // The clock of nanoseconds ticks coarsely: over less than this its quotient means little.
  constexpr uint64_t kShortestNs = 50000;
  for (uint32_t i = 0; i < multiprocessors_; ++i) {
    const Stamp& after = stamps(1)[i];
    const auto at = before.find(after.multiprocessor);
    if (at == before.end() || after.nanoseconds < at->second.nanoseconds + kShortestNs) continue;
    const double nanoseconds = double(after.nanoseconds - at->second.nanoseconds);
    found.push_back(double(after.clock - at->second.clock) / nanoseconds * 1e3);
  }
  if (found.empty()) return 0;
  std::nth_element(found.begin(), found.begin() + found.size() / 2, found.end());
  return found[found.size() / 2];
}

}  // namespace deepbench::cuda
