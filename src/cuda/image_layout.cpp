// The strides of images.
#include "image_layout.hpp"

namespace deepbench::cuda {

uint64_t ImageLayout::elements() const {
  uint64_t count = 1;
  for (const int64_t size : sizes) count *= uint64_t(size);
  return count;
}

std::array<int64_t, 4> ImageLayout::strides() const {
  const auto [n, c, h, w] = sizes;
  (void)n;
  if (channels_last) return {c * h * w, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

Matrix ImageLayout::view(void* data) const {
  const auto all = strides();
  Matrix matrix;
  matrix.data = data, matrix.type = type;
  matrix.rows = uint64_t(sizes[2] * sizes[3]);  // the places of a plane
  matrix.columns = uint64_t(sizes[1]), matrix.planes = uint64_t(sizes[0]);
  matrix.row_stride = uint64_t(all[3]), matrix.column_stride = uint64_t(all[1]);
  matrix.plane_stride = uint64_t(all[0]);
  return matrix;
}

}  // namespace deepbench::cuda
