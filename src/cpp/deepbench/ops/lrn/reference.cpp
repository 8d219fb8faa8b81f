// The float64 reference of local response normalization, image by image.
//
// Bound: the sum S of squares adds at most alpha / size * (size + 1) u S to the base, which is
// rounded up to three times more, to size + 1 in all with the constants of the definition; the
// power -3/4, which libraries make of a square root and roots of it or of a logarithm and an
// exponential, is off by up to 8 u, and the product is rounded once. An output in fewer bits is
// rounded again.
#include "deepbench/ops/lrn/reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/row_reference.hpp"

namespace deepbench {
namespace {

constexpr double kRoundingsOfPower = 8, kOtherRoundings = 4;

class LrnReference final : public RowReference {
 public:
  LrnReference(const Lrn& lrn, const KernelConditions& conditions)
      : RowReference(lrn.n, lrn.c * lrn.plane(), conditions),
        l_(lrn),
        inputs_(conditions.seed, conditions.inputs) {}

  bool is_exact() const override { return false; }

  void compute_row(int64_t image, ExpectedRow& out) const override {
    std::vector<float> x(size_t(width()), 0);
    inputs_.fill(l_.type(), Lrn::kStreamX, uint64_t(image * width()), 1, width(), x.data());
    out.values.resize(x.size()), out.bounds.resize(x.size());
    const int64_t around = (l_.size - 1) / 2;
    for (int64_t channel = 0; channel < l_.c; ++channel) {
      const int64_t first = std::max<int64_t>(0, channel - around),
                    last = std::min(l_.c - 1, channel + around);
      for (int64_t place = 0; place < l_.plane(); ++place) {
        double squares = 0;
        for (int64_t other = first; other <= last; ++other) {
          const double value = x[size_t(other * l_.plane() + place)];
          squares += value * value;
        }
        set_output(size_t(channel * l_.plane() + place), squares, x, out);
      }
    }
  }

 private:
  void set_output(size_t at, double squares, const std::vector<float>& x, ExpectedRow& out) const {
    const double share = Lrn::kAlpha / double(l_.size) * squares, base = Lrn::kK + share;
    const double roundings =
        kRoundingsOfPower + kOtherRoundings + Lrn::kBeta * double(l_.size + 1) * share / base;
    const double value = x[at] * std::pow(base, -Lrn::kBeta), magnitude = std::abs(value);
    out.values[at] = value;
    out.bounds[at] = kRoundoffFloat * roundings * magnitude;
    if (l_.type() != DEEPBENCH_F32)
      out.bounds[at] += l_.precision.output_roundoff * magnitude + l_.precision.absolute_roundoff();
  }

  const Lrn l_;
  const InputGenerator inputs_;
};

}  // namespace

ExpectedOutput expected_lrn_output(const Lrn& lrn, const KernelConditions& conditions) {
  return expected_rows(std::make_shared<LrnReference>(lrn, conditions));
}

double lrn_reference_bytes(const Lrn& lrn) { return row_reference_bytes(lrn.c * lrn.plane()); }

}  // namespace deepbench
