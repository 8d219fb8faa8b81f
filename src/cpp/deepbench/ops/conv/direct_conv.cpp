// The loops of a convolution and its two gradients, over blocks of rows. Rows of x are padded and
// sorted by their position modulo the stride, so that each tap of a filter meets consecutive
// elements.
#include "deepbench/ops/conv/direct_conv.hpp"

#include <algorithm>

#include "deepbench/core/parallel.hpp"
#include "deepbench/ops/conv/row_sums.hpp"

namespace deepbench {
namespace {

constexpr int64_t kBlock = 1 << 13;      // number of elements of a block of rows
constexpr int64_t kBlockSums = 1 << 15;  // sums of a block that fit into the L2 cache
constexpr int64_t kMinThreadProducts = 1
                                       << 17;  // products; less work does not repay another thread
constexpr int64_t kParts = 16;

int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

struct Span {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
  bool contains(int64_t value) const { return value >= begin && value < end; }
};

Span clip(Span span, int64_t size) {
  return {std::max<int64_t>(0, span.begin), std::min(span.end, size)};
}

// Rows of `width` elements after `left` zeros. Element u of a padded row lies in phase u % stride
// at position u / stride. Each phase is `length` long, and a row ends with enough zeros for whole
// lanes.
class PaddedRows {
 public:
  PaddedRows(int64_t width, int64_t left, int64_t stride, int64_t length)
      : width_(width), left_(left), stride_(stride), length_(length) {}

  void load_rows(const ConvOperand& from, int64_t first, int64_t rows) {
    plain_.resize(size_t(rows * width_));
    padded_.resize(std::max(padded_.size(), size_t(rows * pitch())));
    from.read(first, rows * width_, plain_.data());
    for (int64_t i = 0; i < rows; ++i) place_between_padding(plain_.data() + i * width_, row(i));
  }

  double* row(int64_t i) { return padded_.data() + i * pitch(); }
  double memory_bytes(int64_t rows) const {
    return double(sizeof(double)) * double(rows) * double(width_ + pitch());
  }

 private:
  int64_t pitch() const { return length_ * stride_ + kRowLanes; }

  void place_between_padding(const double* from, double* to) const {
    if (stride_ == 1) {
      std::copy(from, from + width_, to + left_);
      return;
    }
    int64_t phase = left_ % stride_, position = left_ / stride_;
    for (int64_t i = 0; i < width_; ++i) {
      to[phase * length_ + position] = from[i];
      if (++phase == stride_) phase = 0, ++position;
    }
  }

  int64_t width_, left_, stride_, length_;
  std::vector<double> plain_, padded_;
};

// The shared part of the phases: sizes, and which rows and taps are combined.
class DirectConv {
 public:
  DirectConv(const Conv& conv, const ConvOperands& in)
      : c_(conv),
        in_(in),
        depth_(conv.o()),
        height_(conv.p()),
        width_(conv.q()),
        phase_length_(ceil_div(conv.w + 2 * conv.pad_w, conv.stride_w)) {}

 protected:
  PaddedRows rows_of_x() const { return {c_.w, c_.pad_w, c_.stride_w, phase_length_}; }

  int64_t channel_of_x(int64_t n, int64_t c) const { return (n * c_.c + c) * c_.x_channel_size(); }
  int64_t channel_offset_in_y(int64_t n, int64_t k) const {
    return (n * c_.k + k) * depth_ * height_ * width_;
  }
  int64_t filter_offset(int64_t k, int64_t c, int64_t t) const {
    return ((k * c_.group_c() + c) * c_.t + t) * c_.r * c_.s;
  }
  // The plane (or row) of x that a tap meets; it may lie in the padding.
  int64_t plane_of_x_at_tap(int64_t o, int64_t t) const {
    return o * c_.stride_d - c_.pad_d + t * c_.dilation_d;
  }
  int64_t row_of_x_at_tap(int64_t p, int64_t r) const {
    return p * c_.stride_h - c_.pad_h + r * c_.dilation_h;
  }
  Span rows_of_x(Span ps) const {
    return clip({row_of_x_at_tap(ps.begin, 0), row_of_x_at_tap(ps.end - 1, c_.r - 1) + 1}, c_.h);
  }
  int64_t tap_position_in_row(int64_t s) const {
    const int64_t u = s * c_.dilation_w;
    return u % c_.stride_w * phase_length_ + u / c_.stride_w;
  }

  int64_t threads() const { return int64_t(c_.flops() / 2 / kMinThreadProducts); }

  static int64_t rows_per_block(int64_t rows, int64_t width, int64_t channels) {
    const int64_t max_rows = std::min(kBlock / width, kBlockSums / width / channels);
    return std::clamp<int64_t>(max_rows, 1, rows);
  }

  static double bytes_of_doubles(double count) { return double(sizeof(double)) * count; }
  double total_bytes_of_threads(double block) const {
    return block * double(std::clamp<int64_t>(threads(), 1, parallel_threads()));
  }

  // Splits `planes` planes of `rows` rows of `width` into blocks. Each row of a block has
  // `channels` sums. Calls body(plane, rows of the block).
  template <class Body>
  void for_each_block(int64_t planes, int64_t rows, int64_t width, int64_t channels,
                      const Body& body) const {
    const int64_t blocks = ceil_div(rows, rows_per_block(rows, width, channels));
    parallel_tasks(planes * blocks, threads(), [&](int64_t task) {
      const int64_t block = task % blocks;
      body(task / blocks, Span{rows * block / blocks, rows * (block + 1) / blocks});
    });
  }

  const Conv& c_;
  const ConvOperands& in_;
  const int64_t depth_, height_, width_;  // output extents
  const int64_t phase_length_;
};

class Forward : public DirectConv {
 public:
  using DirectConv::DirectConv;

  std::vector<double> run() const {
    std::vector<double> y(size_t(c_.y_size()));
    for_each_block(c_.n * c_.groups * depth_, height_, width_, c_.group_k(),
                   [&](int64_t plane, Span ps) { compute_output_block(plane, ps, y.data()); });
    return y;
  }

  // The result, and one block for each thread.
  double memory_bytes() const {
    const int64_t ps = rows_per_block(height_, width_, c_.group_k());
    const double sums = double(c_.group_k() * ps) * double(round_up_to_lanes(width_));
    return bytes_of_doubles(double(c_.y_size())) +
           total_bytes_of_threads(bytes_of_doubles(sums) +
                                  rows_of_x().memory_bytes(rows_of_x({0, ps}).size()));
  }

 private:
  // Applies all filters of a group to the same rows of x.
  void compute_output_block(int64_t plane, Span ps, double* y) const {
    const int64_t o = plane % depth_, g = plane / depth_ % c_.groups;
    const int64_t n = plane / depth_ / c_.groups, pitch = round_up_to_lanes(width_);
    const Span hs = rows_of_x(ps);
    PaddedRows rows = rows_of_x();
    std::vector<double> sums(size_t(c_.group_k() * ps.size() * pitch));
    for (int64_t c = 0; c < c_.group_c() && hs.size() > 0; ++c) {
      for (int64_t t = 0; t < c_.t; ++t) {
        const int64_t z = plane_of_x_at_tap(o, t);
        if (!Span{0, c_.d}.contains(z)) continue;
        rows.load_rows(in_.x, channel_of_x(n, g * c_.group_c() + c) + (z * c_.h + hs.begin) * c_.w,
                       hs.size());
        for (int64_t k = 0; k < c_.group_k(); ++k)
          add_filter(rows, hs, ps, filter_offset(g * c_.group_k() + k, c, t),
                     &sums[size_t(k * ps.size() * pitch)]);
      }
    }
    for (int64_t k = 0; k < c_.group_k(); ++k)
      for (int64_t p = ps.begin; p < ps.end; ++p)
        std::copy_n(&sums[size_t((k * ps.size() + p - ps.begin) * pitch)], width_,
                    y + channel_offset_in_y(n, g * c_.group_k() + k) + (o * height_ + p) * width_);
  }

  void add_filter(PaddedRows& rows, Span hs, Span ps, int64_t first, double* sums) const {
    std::vector<double> factors(size_t(c_.r * c_.s));
    in_.w.read(first, c_.r * c_.s, factors.data());
    std::vector<RowTap> taps;
    for (int64_t p = ps.begin; p < ps.end; ++p, sums += round_up_to_lanes(width_)) {
      taps.clear();
      for (int64_t r = 0; r < c_.r; ++r) {
        const int64_t h = row_of_x_at_tap(p, r);
        if (!hs.contains(h)) continue;
        for (int64_t s = 0; s < c_.s; ++s)
          taps.push_back(
              {rows.row(h - hs.begin) + tap_position_in_row(s), factors[size_t(r * c_.s + s)]});
      }
      add_weighted_rows_of_taps(taps, round_up_to_lanes(width_), sums);
    }
  }
};

class BackwardData : public DirectConv {
 public:
  using DirectConv::DirectConv;

  std::vector<double> run() const {
    std::vector<double> dx(size_t(c_.x_size()));
    for_each_block(c_.n * c_.groups * c_.d, c_.h, c_.w, c_.group_c(),
                   [&](int64_t plane, Span hs) { compute_output_block(plane, hs, dx.data()); });
    return dx;
  }

  double memory_bytes() const {
    const int64_t hs = rows_per_block(c_.h, c_.w, c_.group_c());
    const int64_t ps = std::min(height_, (hs + (c_.r - 1) * c_.dilation_h) / c_.stride_h + 1);
    const PaddedRows rows(width_, taps_before_row(), 1, taps_before_row() + phase_length_);
    const double sums = double(c_.group_c() * hs) * double(row_pitch());
    return bytes_of_doubles(double(c_.x_size())) +
           total_bytes_of_threads(bytes_of_doubles(sums) + rows.memory_bytes(ps));
  }

 private:
  // Sums are laid out like padded rows of x; each phase is padded to whole lanes.
  int64_t phase_pitch() const { return round_up_to_lanes(phase_length_); }
  int64_t row_pitch() const { return phase_pitch() * c_.stride_w; }
  int64_t taps_before_row() const { return (c_.s - 1) * c_.dilation_w / c_.stride_w; }

  // Computes all channels of a group from the same rows of dy.
  void compute_output_block(int64_t plane, Span hs, double* dx) const {
    const int64_t z = plane % c_.d, g = plane / c_.d % c_.groups, n = plane / c_.d / c_.groups;
    const Span ps = clip({ceil_div(hs.begin + c_.pad_h - (c_.r - 1) * c_.dilation_h, c_.stride_h),
                          (hs.end - 1 + c_.pad_h) / c_.stride_h + 1},
                         height_);
    PaddedRows rows(width_, taps_before_row(), 1, taps_before_row() + phase_length_);
    std::vector<double> sums(size_t(c_.group_c() * hs.size() * row_pitch()));
    for (int64_t k = 0; k < c_.group_k() && ps.size() > 0; ++k) {
      for (int64_t t = 0; t < c_.t; ++t) {
        const int64_t step = z + c_.pad_d - t * c_.dilation_d, o = step / c_.stride_d;
        if (step < 0 || step % c_.stride_d || o >= depth_) continue;
        rows.load_rows(
            in_.dy,
            channel_offset_in_y(n, g * c_.group_k() + k) + (o * height_ + ps.begin) * width_,
            ps.size());
        for (int64_t c = 0; c < c_.group_c(); ++c)
          add_filter(rows, ps, hs, filter_offset(g * c_.group_k() + k, c, t),
                     &sums[size_t(c * hs.size() * row_pitch())]);
      }
    }
    for (int64_t c = 0; c < c_.group_c(); ++c)
      for (int64_t h = hs.begin; h < hs.end; ++h)
        store_row(&sums[size_t((c * hs.size() + h - hs.begin) * row_pitch())],
                  dx + channel_of_x(n, g * c_.group_c() + c) + (z * c_.h + h) * c_.w);
  }

  void add_filter(PaddedRows& rows, Span ps, Span hs, int64_t first, double* sums) const {
    std::vector<double> factors(size_t(c_.r * c_.s));
    in_.w.read(first, c_.r * c_.s, factors.data());
    std::vector<RowTap> taps;
    for (int64_t h = hs.begin; h < hs.end; ++h) {
      for (int64_t phase = 0; phase < c_.stride_w; ++phase, sums += phase_pitch()) {
        taps.clear();
        for (int64_t r = 0; r < c_.r; ++r) {
          const int64_t step = h + c_.pad_h - r * c_.dilation_h, p = step / c_.stride_h;
          if (step < 0 || step % c_.stride_h || !ps.contains(p)) continue;
          add_row(rows.row(p - ps.begin), phase, &factors[size_t(r * c_.s)], taps);
        }
        add_weighted_rows_of_taps(taps, phase_length_, sums);
      }
    }
  }

  // Adds the taps that connect this row of dy with this phase of x.
  void add_row(const double* row, int64_t phase, const double* factors,
               std::vector<RowTap>& taps) const {
    for (int64_t s = 0; s < c_.s; ++s) {
      const int64_t u = s * c_.dilation_w;
      if (u % c_.stride_w == phase)
        taps.push_back({row + taps_before_row() - u / c_.stride_w, factors[s]});
    }
  }

  void store_row(const double* sums, double* dx) const {
    for (int64_t i = 0; i < c_.w; ++i) {
      const int64_t u = i + c_.pad_w;
      dx[i] = sums[u % c_.stride_w * phase_pitch() + u / c_.stride_w];
    }
  }
};

class BackwardFilter : public DirectConv {
 public:
  using DirectConv::DirectConv;

  // If there are few filters, the batch is split among threads too.
  std::vector<double> run() const {
    const int64_t pairs = c_.k * c_.group_c(), size = c_.w_size(), parts = this->part_count();
    std::vector<double> partial(size_t(parts * size));
    parallel_tasks(pairs * parts, threads(), [&](int64_t task) {
      const int64_t pair = task % pairs, part = task / pairs;
      add_images(pair / c_.group_c(), pair % c_.group_c(),
                 {c_.n * part / parts, c_.n * (part + 1) / parts},
                 &partial[size_t(part * size + pair * c_.taps())]);
    });
    for (int64_t i = size; i < parts * size; ++i) partial[size_t(i % size)] += partial[size_t(i)];
    partial.resize(size_t(size));
    return partial;
  }

  double memory_bytes() const {
    const int64_t ps = rows_per_block(height_, width_, 1);
    const double rows = PaddedRows(width_, 0, 1, width_).memory_bytes(ps) +
                        rows_of_x().memory_bytes(rows_of_x({0, ps}).size());
    return bytes_of_doubles(double(part_count()) * double(c_.w_size())) +
           total_bytes_of_threads(rows);
  }

 private:
  int64_t part_count() const {
    return std::clamp<int64_t>(ceil_div(kParts, c_.k * c_.group_c()), 1, c_.n);
  }

  // Adds one channel of one filter over these images.
  void add_images(int64_t k, int64_t c, Span ns, double* dw) const {
    PaddedRows dy(width_, 0, 1, width_), x = rows_of_x();
    std::vector<LaneSum> sums(size_t(c_.taps()));
    const int64_t x_channel = k / c_.group_k() * c_.group_c() + c;
    const int64_t blocks = ceil_div(height_, rows_per_block(height_, width_, 1));
    for (int64_t n = ns.begin; n < ns.end; ++n) {
      for (int64_t plane = 0; plane < depth_ * blocks; ++plane) {
        const int64_t o = plane / blocks, block = plane % blocks;
        const Span ps = {height_ * block / blocks, height_ * (block + 1) / blocks};
        dy.load_rows(in_.dy, channel_offset_in_y(n, k) + (o * height_ + ps.begin) * width_,
                     ps.size());
        for (int64_t t = 0; t < c_.t; ++t) {
          const int64_t z = plane_of_x_at_tap(o, t);
          const Span hs = rows_of_x(ps);
          if (!Span{0, c_.d}.contains(z) || hs.size() == 0) continue;
          x.load_rows(in_.x, channel_of_x(n, x_channel) + (z * c_.h + hs.begin) * c_.w, hs.size());
          multiply(dy, x, ps, hs, &sums[size_t(t * c_.r * c_.s)]);
        }
      }
    }
    for (size_t tap = 0; tap < sums.size(); ++tap) dw[tap] = sums[tap].total();
  }

  void multiply(PaddedRows& dy, PaddedRows& x, Span ps, Span hs, LaneSum* sums) const {
    std::vector<const double*> taps(size_t(c_.s));
    for (int64_t p = ps.begin; p < ps.end; ++p) {
      for (int64_t r = 0; r < c_.r; ++r) {
        const int64_t h = row_of_x_at_tap(p, r);
        if (!hs.contains(h)) continue;
        for (int64_t s = 0; s < c_.s; ++s)
          taps[size_t(s)] = x.row(h - hs.begin) + tap_position_in_row(s);
        add_products(dy.row(p - ps.begin), taps, round_up_to_lanes(width_), sums + r * c_.s);
      }
    }
  }
};

// A stride longer than the padded input gives one output, whatever its length.
Conv with_clamped_strides(Conv conv) {
  conv.stride_w = std::min(conv.stride_w, conv.w + 2 * conv.pad_w);
  conv.stride_h = std::min(conv.stride_h, conv.h + 2 * conv.pad_h);
  conv.stride_d = std::min(conv.stride_d, conv.d + 2 * conv.pad_d);
  return conv;
}

// Calls `visit` with the class of this phase and returns its result.
template <class Visit>
auto visit_phase(const Conv& problem, const ConvOperands& operands, const Visit& visit) {
  const Conv conv = with_clamped_strides(problem);
  switch (conv.phase) {
    case ConvPhase::kForward:
      return visit(Forward(conv, operands));
    case ConvPhase::kBackwardData:
      return visit(BackwardData(conv, operands));
    default:
      return visit(BackwardFilter(conv, operands));
  }
}

}  // namespace

std::vector<double> direct_convolution(const Conv& conv, const ConvOperands& operands) {
  return visit_phase(conv, operands, [](const auto& phase) { return phase.run(); });
}

double direct_convolution_bytes(const Conv& conv) {
  return visit_phase(conv, {}, [](const auto& phase) { return phase.memory_bytes(); });
}

}  // namespace deepbench
