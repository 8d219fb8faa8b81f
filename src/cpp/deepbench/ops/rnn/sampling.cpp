// Samples segments with a bounded cost.
#include "deepbench/ops/rnn/sampling.hpp"

#include <algorithm>

#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr double kForwardWork = 1 << 27;  // multiplications that the reference repeats
constexpr int64_t kMaxOutputs = 1 << 19;
constexpr int64_t kMinSegments = 4;
constexpr uint32_t kUnits = 3;  // stream of the sampled units

// lstm's c of 64 steps earlier has no effect: a forget gate of 0.8 leaves a millionth of it, and a
// forget gate of 1/2 leaves 5e-20.
constexpr int64_t kForgetSteps = 64;
constexpr int64_t kMaxWholeSegment = 3 * kForgetSteps;

int64_t random_below(int64_t size, uint64_t seed, uint32_t stream, uint64_t index) {
  return static_cast<int64_t>(deepbench_bits(seed, stream, index) % uint64_t(size));
}

struct SegmentShape {
  int64_t steps, units;
};

SegmentShape segment_shape(const Rnn& rnn) {
  if (rnn.cell == "lstm")
    return {rnn.timesteps <= kMaxWholeSegment ? rnn.timesteps : 2 * kForgetSteps,
            std::min<int64_t>(rnn.hidden, 32)};
  // gru_reset_before's factor r is common to all units; it costs `hidden` units at each step.
  if (rnn.cell == "gru_reset_before")
    return {std::min<int64_t>(rnn.timesteps, 4), std::min<int64_t>(rnn.hidden, 128)};
  return {std::min<int64_t>(rnn.timesteps, 8), std::min<int64_t>(rnn.hidden, 48)};
}

// Generating a row of U costs as much as two dot products with it.
double segment_cost(const Rnn& rnn, const SegmentShape& shape) {
  const double rows =
      double(rnn.gates() * shape.units) + (rnn.cell == "gru_reset_before" ? double(rnn.hidden) : 0);
  return rows * double(rnn.hidden) * double(shape.steps + 2);
}

RnnSegment segment_at(const Rnn& rnn, const SegmentShape& shape, uint64_t seed, int64_t number) {
  const int64_t latest = rnn.timesteps - shape.steps, last = rnn.batch - 1;
  RnnSegment segment;
  segment.sequence = number == 0   ? 0
                     : number == 1 ? last
                                   : random_below(rnn.batch, seed, 1, uint64_t(number));
  segment.begin = number % 4 == 0   ? 0
                  : number % 4 == 1 ? latest
                                    : random_below(latest + 1, seed, 2, uint64_t(number));
  segment.end = segment.begin + shape.steps;
  segment.checked_from =
      segment.begin + (segment.begin > 0 && rnn.cell == "lstm" ? kForgetSteps : 0);
  segment.units = stratified_sample(rnn.hidden, shape.units, seed, kUnits, uint64_t(number));
  return segment;
}

// Number of steps of the segments that together cover every unit: each of the sweep_segments()
// segments takes one of as many consecutive units, at a place of its own. For lstm it lies at the
// beginning of a sequence, where c is known.
constexpr int64_t kSweepSteps = 4;

int64_t sweep_segments(const Rnn& rnn) {
  return std::min<int64_t>(rnn.hidden, rnn.cell == "gru_reset_before" ? 4 : 16);
}

SegmentShape sweep_shape(const Rnn& rnn) {
  const int64_t segments = sweep_segments(rnn);
  return {std::min(rnn.timesteps, kSweepSteps), (rnn.hidden + segments - 1) / segments};
}

RnnSegment sweep_segment(const Rnn& rnn, uint64_t seed, int64_t number) {
  const int64_t steps = sweep_shape(rnn).steps, latest = rnn.timesteps - steps;
  RnnSegment segment;
  segment.sequence = random_below(rnn.batch, seed, 4, uint64_t(number));
  segment.begin = rnn.cell == "lstm" ? 0 : random_below(latest + 1, seed, 5, uint64_t(number));
  segment.end = segment.begin + steps;
  segment.checked_from = segment.begin;
  for (int64_t unit = number; unit < rnn.hidden; unit += sweep_segments(rnn))
    segment.units.push_back(unit);
  return segment;
}

}  // namespace

bool checks_all_outputs(const Rnn& rnn) {
  return double(rnn.sequence()) * double(rnn.gates() * rnn.hidden) <= kForwardWork &&
         rnn.sequence() <= kMaxOutputs;
}

std::vector<RnnSegment> choose_segments(const Rnn& rnn, uint64_t seed) {
  std::vector<RnnSegment> segments;
  if (checks_all_outputs(rnn)) {
    for (int64_t n = 0; n < rnn.batch; ++n)
      segments.push_back(
          {n, 0, rnn.timesteps, 0, stratified_sample(rnn.hidden, rnn.hidden, seed, kUnits)});
    return segments;
  }
  for (int64_t i = 0; i < sweep_segments(rnn); ++i) segments.push_back(sweep_segment(rnn, seed, i));
  const SegmentShape shape = segment_shape(rnn);
  const double sweep = double(sweep_segments(rnn)) * segment_cost(rnn, sweep_shape(rnn));
  const auto affordable = static_cast<int64_t>((kForwardWork - sweep) / segment_cost(rnn, shape));
  const int64_t max_segments = kMaxOutputs / 2 / (shape.steps * shape.units);
  for (int64_t i = 0; i < std::max(kMinSegments, std::min(affordable, max_segments)); ++i)
    segments.push_back(segment_at(rnn, shape, seed, i));
  return segments;
}

}  // namespace deepbench
