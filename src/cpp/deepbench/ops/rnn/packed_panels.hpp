// Matrix products in float64 for references that need every element.
#pragma once

#include <cstdint>
#include <vector>

namespace deepbench {

// The right factor of products, k x n, stored as panels of eight adjacent columns.
template <class T>
class PackedPanels {
 public:
  // Element (row, column) is at data[row * row_step + column * column_step].
  PackedPanels(const T* data, int64_t k, int64_t n, int64_t row_step, int64_t column_step);

  // C += A B on all threads. C is m x n with a row stride of `c_step`, A is m x k with a row stride
  // of `a_step`. The order of every sum is fixed.
  void add_product(int64_t m, const double* a, int64_t a_step, double* c, int64_t c_step) const;

 private:
  void add_panel(int64_t m, const double* a, int64_t a_step, int64_t panel, double* c,
                 int64_t c_step) const;

  int64_t k_, n_;
  std::vector<T> elements_;  // [panel][row][column within the panel]
};

extern template class PackedPanels<float>;
extern template class PackedPanels<double>;

}  // namespace deepbench
