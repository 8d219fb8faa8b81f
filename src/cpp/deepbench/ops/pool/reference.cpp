// The float64 reference of pooling, plane by plane. A maximum is exact.
//
// Bound of an average: in float, the sum of k values is off by at most (k - 1) u times the sum of
// their magnitudes; the division, or the product with a rounded 1/k, rounds twice. The output is
// rounded once more. Of a gradient, the m shares that a place receives are rounded twice each, and
// libraries add them up in the type of the output: the sum is off by at most m - 1 of its roundoffs
// of the sum of their magnitudes.
//
// Where several places of a window hold its maximum, the gradient may go to any of them. The value
// that is expected of each is half of the gradient, and its bound is wider by the other half.
#include "deepbench/ops/pool/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/row_reference.hpp"

namespace deepbench {
namespace {

class PoolReference final : public RowReference {
 public:
  PoolReference(const Pool& pool, const KernelConditions& conditions)
      : RowReference(pool.planes(), pool.output_plane(), conditions),
        p_(pool),
        inputs_(conditions.seed, conditions.inputs) {}

  bool is_exact() const override { return !p_.is_average && !p_.is_backward; }

  void compute_row(int64_t plane, ExpectedRow& out) const override {
    out.values.assign(size_t(width()), 0);
    out.bounds.assign(size_t(width()), 0);
    Plane of;
    of.x.resize(size_t(p_.x_plane()));
    fill(Pool::kStreamX, plane, of.x);
    if (p_.is_backward) {
      of.dy.resize(size_t(p_.y_plane()));
      of.shares.resize(of.x.size()), of.magnitudes.resize(of.x.size());
      fill(Pool::kStreamDy, plane, of.dy);
    }
    for (int64_t i = 0; i < p_.p(); ++i)
      for (int64_t j = 0; j < p_.q(); ++j) pool_window(i, j, of, out);
    if (p_.is_backward) finish_gradients(of, out);
  }

 private:
  struct Plane {
    std::vector<float> x, dy;
    // How many windows contribute a share to each gradient, and the sum of the magnitudes of its
    // shares.
    std::vector<double> shares, magnitudes;

    void count_share(size_t place, double share) {
      ++shares[place], magnitudes[place] += std::abs(share);
    }
  };

  void fill(uint32_t stream, int64_t plane, std::vector<float>& to) const {
    const auto size = int64_t(to.size());
    inputs_.fill(p_.type(), stream, uint64_t(plane * size), 1, size, to.data());
  }

  template <class Visit>
  void for_each_place(int64_t i, int64_t j, const Visit& visit) const {
    const Pool::Span rows = p_.rows_of(i), columns = p_.columns_of(j);
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t column = columns.begin; column < columns.end; ++column)
        visit(size_t(row * p_.w + column));
  }

  void pool_window(int64_t i, int64_t j, Plane& of, ExpectedRow& out) const {
    const auto at = size_t(i * p_.q() + j);
    if (p_.is_average && p_.is_backward) return share_gradient(i, j, of, out, of.dy[at]);
    if (p_.is_backward) return pass_gradient(i, j, of, out, of.dy[at]);
    if (p_.is_average) return average(i, j, of, at, out);
    out.values[at] = maximum(i, j, of);
  }

  double maximum(int64_t i, int64_t j, const Plane& of) const {
    float most = -std::numeric_limits<float>::infinity();
    for_each_place(i, j, [&](size_t place) { most = std::max(most, of.x[place]); });
    return most;
  }

  void average(int64_t i, int64_t j, const Plane& of, size_t at, ExpectedRow& out) const {
    double sum = 0, magnitudes = 0, count = 0;
    for_each_place(i, j, [&](size_t place) {
      sum += of.x[place], magnitudes += std::abs(of.x[place]), ++count;
    });
    out.values[at] = sum / count;
    out.bounds[at] = kRoundoffFloat * ((count - 1) * magnitudes + 2 * std::abs(sum)) / count;
    out.bounds[at] += rounding(out.values[at]);
  }

  void share_gradient(int64_t i, int64_t j, Plane& of, ExpectedRow& out, double dy) const {
    const double share = dy / double(p_.rows_of(i).size() * p_.columns_of(j).size());
    for_each_place(i, j, [&](size_t place) {
      out.values[place] += share;
      out.bounds[place] += kRoundoffFloat * 2 * std::abs(share);
      of.count_share(place, share);
    });
  }

  void pass_gradient(int64_t i, int64_t j, Plane& of, ExpectedRow& out, double dy) const {
    const double most = maximum(i, j, of);
    int holders = 0;
    for_each_place(i, j, [&](size_t place) { holders += of.x[place] == most; });
    for_each_place(i, j, [&](size_t place) {
      if (of.x[place] != most) return;
      out.values[place] += holders > 1 ? dy / 2 : dy;
      out.bounds[place] += holders > 1 ? std::abs(dy) / 2 : 0;
      of.count_share(place, dy);
    });
  }

  // A single share of a maximum is not rounded.
  void finish_gradients(const Plane& of, ExpectedRow& out) const {
    for (size_t i = 0; i < out.values.size(); ++i) {
      const double additions = of.shares[i] - 1, value = std::abs(out.values[i]) + out.bounds[i];
      if (additions > 0)
        out.bounds[i] += additions * (p_.precision.output_roundoff * of.magnitudes[i] +
                                      p_.precision.absolute_roundoff());
      if (additions > 0 || p_.is_average) out.bounds[i] += rounding(value);
    }
  }

  // The error of storing a value, which is 0 in float.
  double rounding(double value) const {
    if (p_.type() == DEEPBENCH_F32) return 0;
    return p_.precision.output_roundoff * std::abs(value) + p_.precision.absolute_roundoff();
  }

  const Pool p_;
  const InputGenerator inputs_;
};

}  // namespace

ExpectedOutput expected_pool_output(const Pool& pool, const KernelConditions& conditions) {
  return expected_rows(std::make_shared<PoolReference>(pool, conditions));
}

double pool_reference_bytes(const Pool& pool) { return row_reference_bytes(pool.output_plane()); }

}  // namespace deepbench
