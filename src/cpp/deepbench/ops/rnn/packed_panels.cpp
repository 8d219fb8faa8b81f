// Multiplies blocks of four rows of A with a panel of eight columns of B and holds the sums in
// registers.
#include "deepbench/ops/rnn/packed_panels.hpp"

#include <algorithm>
#include <cstring>

#include "deepbench/core/double_vectors.hpp"
#include "deepbench/core/parallel.hpp"

namespace deepbench {
namespace {

constexpr int kColumns = 8;      // columns of a panel
constexpr int64_t kDepth = 512;  // rows of a panel that fit into the L1 cache
constexpr int kRows = 4;         // rows of a block
constexpr double kMinThreadProducts = 1 << 18;

DEEPBENCH_ALWAYS_INLINE inline void add_lanes(const Double4& sums, double* c, int columns) {
  double lanes[4];
  std::memcpy(lanes, &sums, sizeof lanes);
  for (int column = 0; column < std::min(columns, 4); ++column) c[column] += lanes[column];
}

template <int kCount, class T>
DEEPBENCH_ALWAYS_INLINE inline void add_rows(const double* a, int64_t a_step, const T* panel,
                                             int64_t depth, double* c, int64_t c_step,
                                             int columns) {
  Double4 left[kCount] = {}, right[kCount] = {};
  for (int64_t l = 0; l < depth; ++l) {
    Double4 b, next;
    load(panel + l * kColumns, b);
    load(panel + l * kColumns + 4, next);
    for (int row = 0; row < kCount; ++row) {
      const double value = a[row * a_step + l];
      left[row] += value * b;
      right[row] += value * next;
    }
  }
  for (int row = 0; row < kCount; ++row) {
    add_lanes(left[row], c + row * c_step, columns);
    add_lanes(right[row], c + row * c_step + 4, columns - 4);
  }
}

}  // namespace

template <class T>
PackedPanels<T>::PackedPanels(const T* data, int64_t k, int64_t n, int64_t row_step,
                              int64_t column_step)
    : k_(k), n_(n), elements_(size_t((n + kColumns - 1) / kColumns * kColumns * k)) {
  parallel_for(
      (n + kColumns - 1) / kColumns, 1 + (1 << 16) / k, [&](int64_t begin, int64_t end, int) {
        for (int64_t column = begin * kColumns; column < std::min(n, end * kColumns); ++column) {
          T* const to = elements_.data() + column / kColumns * kColumns * k + column % kColumns;
          for (int64_t l = 0; l < k; ++l)
            to[l * kColumns] = data[l * row_step + column * column_step];
        }
      });
}

template <class T>
void PackedPanels<T>::add_product(int64_t m, const double* a, int64_t a_step, double* c,
                                  int64_t c_step) const {
  const double products = double(m) * double(k_) * kColumns;
  parallel_for((n_ + kColumns - 1) / kColumns, int64_t(kMinThreadProducts / products) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t panel = begin; panel < end; ++panel)
                   add_panel(m, a, a_step, panel, c + panel * kColumns, c_step);
               });
}

template <class T>
void PackedPanels<T>::add_panel(int64_t m, const double* a, int64_t a_step, int64_t panel,
                                double* c, int64_t c_step) const {
  const T* const elements = elements_.data() + panel * kColumns * k_;
  const int columns = int(std::min<int64_t>(kColumns, n_ - panel * kColumns));
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    for (int64_t l = 0; l < k_; l += kDepth) {
      const T* const from = elements + l * kColumns;
      const int64_t depth = std::min(kDepth, k_ - l);
      int64_t row = 0;
      for (; row + kRows <= m; row += kRows)
        add_rows<kRows>(a + row * a_step + l, a_step, from, depth, c + row * c_step, c_step,
                        columns);
      for (; row < m; ++row)
        add_rows<1>(a + row * a_step + l, a_step, from, depth, c + row * c_step, c_step, columns);
    }
  });
}

template class PackedPanels<float>;
template class PackedPanels<double>;

}  // namespace deepbench
