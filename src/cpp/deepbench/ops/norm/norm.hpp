// Normalization of a matrix x of `rows` x `columns`, stored by rows: the typed problem, the values
// of its operands, and its outputs. Header-only, for the core and for backends.
//
// Elements of x that are normalized together are a set:
//   layer, rms  a row
//   group       one of `groups` equal parts of a row
//   batch       a column
// With the mean m and the variance v of the set (rms: m = 0, and v is the mean square), the inverse
// deviation d = 1 / sqrt(v + kEpsilon), z = (x - m) d, and the scale g and the shift b of a column,
//   training, inference  y = g z + b                        (rms: y = g z)
//   bwd                  with h = g dy and means over the set,
//                        dx = d (h - mean(h) - z mean(h z))  (rms: without mean(h))
//                        dg = sum of dy z, db = sum of dy over the rows (rms: no db)
// Inference with batch takes m and v as operands; all others compute them. bwd takes the statistics
// that training has left.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class NormKind { kBatch, kLayer, kRms, kGroup };
enum class NormPhase { kTraining, kInference, kBackward };

// The operands: inputs, then statistics, then outputs.
enum class NormPart {
  kX,
  kScale,
  kShift,
  kDy,
  kMean,    // one for each set
  kSpread,  // one for each set: the inverse deviation, or the variance for inference with batch
  kY,
  kDx,
  kDscale,
  kDshift
};
inline constexpr int kNormParts = 10;

inline float rounded_to(deepbench_type type, float value) {
  if (type == DEEPBENCH_F16) return deepbench_from_half(deepbench_to_half(value));
  if (type == DEEPBENCH_BF16) return deepbench_from_bfloat16(deepbench_to_bfloat16(value));
  return value;
}

// An operand's element is offset + factor * (element of fill.h in float), rounded to its type.
struct NormValues {
  uint32_t stream;
  float offset, factor;

  float element(float generated, deepbench_type type) const {
    return rounded_to(type, offset + factor * generated);
  }
};

struct Norm {
  NormKind kind = NormKind::kLayer;
  NormPhase phase = NormPhase::kTraining;
  int64_t rows = 0, columns = 0;
  int64_t groups = 1;
  PrecisionInfo precision;

  static constexpr double kEpsilon = 1e-5;

  // The elements of x have a mean that is not 0, so that a kernel that does not subtract it is
  // detected. They are so small that kEpsilon is an eighth of their variance, so that a kernel with
  // another epsilon is detected.
  static constexpr NormValues kXValues = {0, 1.0f / 64, 1.0f / 64};
  static constexpr NormValues kScaleValues = {1, 1, 0.5f};
  static constexpr NormValues kShiftValues = {2, 0, 1};
  static constexpr NormValues kDyValues = {3, 0.5f, 0.5f};
  // Only for inference with batch.
  static constexpr NormValues kMeanValues = {4, 1.0f / 64, 1.0f / 64};
  static constexpr NormValues kVarianceValues = {5, 2.0f / 32768, 1.0f / 32768};

  bool is_backward() const { return phase == NormPhase::kBackward; }
  bool has_mean() const { return kind != NormKind::kRms; }
  // Whether the statistics are operands.
  bool has_running_statistics() const {
    return kind == NormKind::kBatch && phase == NormPhase::kInference;
  }

  int64_t elements() const { return rows * columns; }
  int64_t sets() const {
    return kind == NormKind::kBatch ? columns : kind == NormKind::kGroup ? rows * groups : rows;
  }
  int64_t set_elements() const { return elements() / sets(); }

  deepbench_type type(NormPart part) const {
    const bool is_matrix = part == NormPart::kX || part == NormPart::kDy || part == NormPart::kY ||
                           part == NormPart::kDx;
    return is_matrix ? precision.c : DEEPBENCH_F32;
  }
  // The number of elements; 0 if the problem has no such part.
  int64_t part_elements(NormPart part) const {
    switch (part) {
      case NormPart::kX:
        return elements();
      case NormPart::kScale:
        return columns;
      case NormPart::kShift:
        return has_mean() && !is_backward() ? columns : 0;
      case NormPart::kDy:
      case NormPart::kDx:
        return is_backward() ? elements() : 0;
      case NormPart::kMean:
        return has_mean() ? part_elements(NormPart::kSpread) : 0;
      case NormPart::kSpread:
        return phase != NormPhase::kInference || has_running_statistics() ? sets() : 0;
      case NormPart::kY:
        return is_backward() ? 0 : elements();
      case NormPart::kDscale:
        return is_backward() ? columns : 0;
      case NormPart::kDshift:
        return is_backward() && has_mean() ? columns : 0;
    }
    return 0;
  }
  int64_t part_bytes(NormPart part) const { return part_elements(part) * size_of(type(part)); }

  // The outputs in the order of their numbers.
  std::vector<NormPart> outputs() const {
    if (phase == NormPhase::kInference) return {NormPart::kY};
    if (phase == NormPhase::kTraining)
      return has_mean() ? std::vector<NormPart>{NormPart::kY, NormPart::kMean, NormPart::kSpread}
                        : std::vector<NormPart>{NormPart::kY, NormPart::kSpread};
    return has_mean() ? std::vector<NormPart>{NormPart::kDx, NormPart::kDscale, NormPart::kDshift}
                      : std::vector<NormPart>{NormPart::kDx, NormPart::kDscale};
  }

  // Bytes that move if every operand is read or written once.
  double traffic() const {
    double bytes = 0;
    for (int part = 0; part < kNormParts; ++part) bytes += double(part_bytes(NormPart(part)));
    return bytes;
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Norm norm_problem(const Attributes& attributes) {
  const std::string kind = attributes.text("kind"), phase = attributes.text("phase");
  Norm norm;
  norm.kind = kind == "batch"   ? NormKind::kBatch
              : kind == "layer" ? NormKind::kLayer
              : kind == "rms"   ? NormKind::kRms
                                : NormKind::kGroup;
  norm.phase = phase == "inference" ? NormPhase::kInference
               : phase == "bwd"     ? NormPhase::kBackward
                                    : NormPhase::kTraining;
  norm.rows = attributes.integer("rows"), norm.columns = attributes.integer("columns");
  if (norm.kind == NormKind::kGroup) norm.groups = attributes.integer("groups");
  norm.precision = precision_info(attributes.text("precision"));
  return norm;
}

}  // namespace deepbench
