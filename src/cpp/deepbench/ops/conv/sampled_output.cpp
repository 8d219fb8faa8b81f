// Computes one output at a time, each from its definition.
#include "deepbench/ops/conv/sampled_output.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "deepbench/core/stratified_sample.hpp"

namespace deepbench {
namespace {

constexpr uint32_t kPositionStream = 11, kSlowestStream = 12, kPlaceStream = 13;

// The position of an output: first and second dimension of its tensor, then depth, height and
// width.
using Position = std::array<int64_t, 5>;

Position output_extents(const Conv& c) {
  switch (c.phase) {
    case ConvPhase::kForward:
      return {c.n, c.k, c.o(), c.p(), c.q()};
    case ConvPhase::kBackwardData:
      return {c.n, c.c, c.d, c.h, c.w};
    default:
      return {c.k, c.group_c(), c.t, c.r, c.s};
  }
}

Position tensor_position(const Conv& conv, int64_t index) {
  const Position size = output_extents(conv);
  int64_t rest = conv.output().tensor_index(index);
  Position position{};
  for (size_t i = size.size(); i-- > 0; rest /= size[i]) position[i] = rest % size[i];
  return position;
}

// Sums the products of two operands' elements, a batch of elements at a time.
class BatchedProducts {
 public:
  struct ElementRun {
    const ConvOperand& from;
    int64_t first, step;
  };

  void add(const ElementRun& a, const ElementRun& b, int64_t count) {
    for (int64_t done = 0; done < count;) {
      const int64_t size = std::min(count - done, kBatch - filled_);
      read_elements(a, done, size, a_ + filled_);
      read_elements(b, done, size, b_ + filled_);
      done += size, filled_ += size;
      if (filled_ == kBatch) add_batch();
    }
  }

  DotSums sums() {
    add_batch();
    return sums_;
  }

 private:
  static constexpr int64_t kBatch = 1024;

  static void read_elements(const ElementRun& run, int64_t done, int64_t count, float* out) {
    run.from.inputs->fill(run.from.type, run.from.stream, uint64_t(run.first + done * run.step),
                          uint64_t(run.step), count, out);
  }

  void add_batch() {
    const DotSums added = dot_sums(a_, b_, filled_);
    sums_.products += added.products, sums_.squares += added.squares;
    filled_ = 0;
  }

  float a_[kBatch], b_[kBatch];
  int64_t filled_ = 0;
  DotSums sums_;
};

// The indices i of [0, size) for which 0 <= first + i * step < end, as [begin, end).
std::array<int64_t, 2> valid_range(int64_t first, int64_t step, int64_t size, int64_t end) {
  const int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
  const int64_t last = first >= end ? 0 : (end - 1 - first) / step + 1;
  return {begin, std::min(last, size)};
}

class SingleOutput {
 public:
  SingleOutput(const Conv& conv, const ConvOperands& in, int64_t index)
      : c_(conv), in_(in), position_(tensor_position(conv, index)) {}

  DotSums sums() {
    switch (c_.phase) {
      case ConvPhase::kForward:
        forward();
        break;
      case ConvPhase::kBackwardData:
        backward_data();
        break;
      default:
        backward_filter();
    }
    return products_.sums();
  }

 private:
  int64_t offset_in_x(int64_t n, int64_t c, int64_t z, int64_t h) const {
    return (((n * c_.c + c) * c_.d + z) * c_.h + h) * c_.w;
  }
  int64_t offset_in_y(int64_t n, int64_t k, int64_t o, int64_t p) const {
    return (((n * c_.k + k) * c_.o() + o) * c_.p() + p) * c_.q();
  }
  int64_t offset_in_w(int64_t k, int64_t c, int64_t t, int64_t r) const {
    return (((k * c_.group_c() + c) * c_.t + t) * c_.r + r) * c_.s;
  }

  void forward() {
    const auto [n, k, o, p, q] = position_;
    const int64_t left = q * c_.stride_w - c_.pad_w, group = k / c_.group_k();
    const auto [begin, end] = valid_range(left, c_.dilation_w, c_.s, c_.w);
    for (int64_t c = 0; c < c_.group_c(); ++c) {
      for (int64_t tap = 0; tap < c_.t * c_.r; ++tap) {
        const int64_t t = tap / c_.r, r = tap % c_.r;
        const int64_t z = o * c_.stride_d - c_.pad_d + t * c_.dilation_d;
        const int64_t h = p * c_.stride_h - c_.pad_h + r * c_.dilation_h;
        if (z < 0 || z >= c_.d || h < 0 || h >= c_.h) continue;
        products_.add(
            {in_.x, offset_in_x(n, group * c_.group_c() + c, z, h) + left + begin * c_.dilation_w,
             c_.dilation_w},
            {in_.w, offset_in_w(k, c, t, r) + begin, 1}, end - begin);
      }
    }
  }

  // The output that this input reaches through the tap; -1 if there is none.
  static int64_t output_at_tap(int64_t input, int64_t pad, int64_t tap, int64_t dilation,
                               int64_t stride, int64_t outputs) {
    const int64_t step = input + pad - tap * dilation;
    return step < 0 || step % stride || step / stride >= outputs ? -1 : step / stride;
  }

  void backward_data() {
    const auto [n, c, z, h, x_column] = position_;
    const int64_t group = c / c_.group_c(), c_in_group = c % c_.group_c();
    for (int64_t tap = 0; tap < c_.taps(); ++tap) {
      const int64_t t = tap / c_.s / c_.r, r = tap / c_.s % c_.r, s = tap % c_.s;
      const int64_t o = output_at_tap(z, c_.pad_d, t, c_.dilation_d, c_.stride_d, c_.o());
      const int64_t p = output_at_tap(h, c_.pad_h, r, c_.dilation_h, c_.stride_h, c_.p());
      const int64_t q = output_at_tap(x_column, c_.pad_w, s, c_.dilation_w, c_.stride_w, c_.q());
      if (o < 0 || p < 0 || q < 0) continue;
      const int64_t k = group * c_.group_k();
      products_.add({in_.dy, offset_in_y(n, k, o, p) + q, c_.y_channel_size()},
                    {in_.w, offset_in_w(k, c_in_group, t, r) + s, c_.group_c() * c_.taps()},
                    c_.group_k());
    }
  }

  void backward_filter() {
    const auto [k, c_in_group, t, r, s] = position_;
    const int64_t c = k / c_.group_k() * c_.group_c() + c_in_group;
    const int64_t left = s * c_.dilation_w - c_.pad_w;
    const auto [begin, end] = valid_range(left, c_.stride_w, c_.q(), c_.w);
    for (int64_t n = 0; n < c_.n; ++n) {
      for (int64_t row = 0; row < c_.o() * c_.p(); ++row) {
        const int64_t o = row / c_.p(), p = row % c_.p();
        const int64_t z = o * c_.stride_d - c_.pad_d + t * c_.dilation_d;
        const int64_t h = p * c_.stride_h - c_.pad_h + r * c_.dilation_h;
        if (z < 0 || z >= c_.d || h < 0 || h >= c_.h) continue;
        products_.add({in_.x, offset_in_x(n, c, z, h) + left + begin * c_.stride_w, c_.stride_w},
                      {in_.dy, offset_in_y(n, k, o, p) + begin, 1}, end - begin);
      }
    }
  }

  const Conv& c_;
  const ConvOperands& in_;
  const Position position_;
  BatchedProducts products_;
};

// Either end of the axis, or a random position.
int64_t position_on_axis(uint64_t kind, uint64_t bits, int64_t size) {
  if (kind < 2) return kind == 0 ? 0 : size - 1;
  return int64_t((bits >> 8) % uint64_t(size));
}

int64_t index_of(const Conv& conv, const Position& position) {
  const Position size = output_extents(conv);
  const auto [first, second, z, h, w] = position;
  return conv.output().index(first, second, (z * size[3] + h) * size[4] + w);
}

}  // namespace

std::vector<int64_t> sampled_outputs(const Conv& conv, int64_t count, int64_t along,
                                     uint64_t seed) {
  constexpr int64_t kCorners = 32;
  const Position size = output_extents(conv);
  const ConvOutput output = conv.output();
  std::vector<int64_t> chosen;
  if (count >= output.size()) {
    chosen.resize(size_t(output.size()));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  for (int64_t i = 0; i < count; ++i) {
    Position position{};
    for (size_t axis = 0; axis < size.size(); ++axis) {
      const uint64_t bits = deepbench_bits(seed, kPositionStream, uint64_t(i) * 8 + axis);
      const bool is_corner = i < std::min(kCorners, count / 2);
      position[axis] = position_on_axis(is_corner ? bits % 2 : bits % 8, bits, size[axis]);
    }
    chosen.push_back(index_of(conv, position));
  }
  for (const int64_t slowest :
       stratified_sample(output.slowest_extent(), along, seed, kSlowestStream)) {
    const uint64_t bits = deepbench_bits(seed, kPlaceStream, uint64_t(slowest));
    chosen.push_back(slowest * output.rows() + int64_t(bits % uint64_t(output.rows())));
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

DotSums compute_output(const Conv& conv, const ConvOperands& operands, int64_t index) {
  return SingleOutput(conv, operands, index).sums();
}

}  // namespace deepbench
