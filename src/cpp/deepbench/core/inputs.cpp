// Runs of generated elements; one loop per storage type, so that the compiler can unroll it.
#include "deepbench/core/inputs.hpp"

#include <algorithm>

namespace deepbench {
namespace {

template <class Convert>
void fill_run(uint64_t seed, uint32_t stream, uint64_t first, uint64_t stride, int64_t count,
              float* out, Convert convert) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = convert(seed, stream, first + static_cast<uint64_t>(i) * stride);
}

}  // namespace

void Inputs::run(deepbench_type type, uint32_t stream, uint64_t first, uint64_t stride,
                 int64_t count, float* out) const {
  if (constant_) {
    std::fill(out, out + count, value_);
  } else if (type == DEEPBENCH_F32) {
    fill_run(seed_, stream, first, stride, count, out, deepbench_uniform);
  } else {
    fill_run(seed_, stream, first, stride, count, out,
             [type](uint64_t seed, uint32_t which, uint64_t index) {
               return static_cast<float>(deepbench_element(type, seed, which, index));
             });
  }
}

double Inputs::mean_square(deepbench_type type) const {
  if (constant_) return double(value_) * value_;
  switch (type) {
    case DEEPBENCH_S8:
      return 65536.0 / 12 + 0.25;
    case DEEPBENCH_U8:
      return 255.0 * 511.0 / 6;
    case DEEPBENCH_S7:
      return 16384.0 / 12 + 0.25;
    case DEEPBENCH_S32:
      return 65536.0 * 65536.0 / 12;
    default:
      return 1.0 / 3;
  }
}

}  // namespace deepbench
