// Collects batches in parts, which are merged in pairs when there are too many.
#include "deepbench/measure/soak.hpp"

namespace deepbench {
namespace {

void append(SoakPart& part, const SoakPart& next) {
  const double clocks =
      part.clock_mhz * double(part.clocked) + next.clock_mhz * double(next.clocked);
  part.calls += next.calls;
  part.batches += next.batches;
  part.throttled += next.throttled;
  part.power_capped += next.power_capped;
  part.clocked += next.clocked;
  part.elapsed_ns += next.elapsed_ns;
  if (part.clocked > 0) part.clock_mhz = clocks / double(part.clocked);
}

}  // namespace

void SoakCourse::add(const Batch& batch, bool is_throttled) {
  SoakPart next;
  next.calls = int64_t(batch.count);
  next.batches = 1;
  next.throttled = int64_t{is_throttled};
  next.power_capped = int64_t{batch.power_capped};
  next.clocked = int64_t{batch.clock_mhz > 0};
  next.elapsed_ns = batch.elapsed_ns;
  next.clock_mhz = batch.clock_mhz;
  if (!parts_.empty() && parts_.back().batches < batches_of_part_) {
    append(parts_.back(), next);
    return;
  }
  if (parts_.size() == kMaxParts) merge_neighbors();
  parts_.push_back(next);
}

void SoakCourse::merge_neighbors() {
  for (size_t i = 0; i < kMaxParts / 2; ++i) {
    parts_[i] = parts_[2 * i];
    append(parts_[i], parts_[2 * i + 1]);
  }
  parts_.resize(kMaxParts / 2);
  batches_of_part_ *= 2;
}

}  // namespace deepbench
