// Grids for the kernels of rnn.cu that go over whole operands.
#include "ops/rnn/scaling.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "check.hpp"
#include "kernels/jit.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kScaleThreads = 256, kMostScaleBlocks = 4096;

Shape shape_over(uint64_t count) {
  Shape shape;
  shape.block_x = uint32_t(kScaleThreads);
  shape.grid_x = uint32_t(
      std::clamp<uint64_t>((count + kScaleThreads - 1) / kScaleThreads, 1, kMostScaleBlocks));
  return shape;
}

void scale_by(void* data, deepbench_type type, uint64_t count, float scale, const Stream& stream) {
  function("rnn", "scale_elements", stream)
      .launch(shape_over(count), stream.get(), data, int32_t(type), count, scale);
}

}  // namespace

void fill_scaled(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream_number, double scale, const Stream& stream) {
  if (count == 0) return;
  fill(Matrix{data, type, count, 1, 1, 0}, inputs, seed, stream_number, stream);
  scale_by(data, type, count, float(scale), stream);
}

void negate(void* data, deepbench_type type, uint64_t count, const Stream& stream) {
  scale_by(data, type, count, -1.0f, stream);
}

void widen(const void* data, deepbench_type type, uint64_t count, double* to,
           const Stream& stream) {
  function("rnn", "widen_elements", stream)
      .launch(shape_over(count), stream.get(), data, int32_t(type), count, to);
}

bool all_near(const double* a, const double* b, uint64_t count, double tolerance,
              const Stream& stream) {
  const Buffer flag(sizeof(uint32_t));
  CUDA_CHECK(cudart().cudaMemsetAsync(flag.data(), 0, flag.bytes(), stream.get()));
  function("rnn", "compare_elements", stream)
      .launch(shape_over(count), stream.get(), a, b, count, tolerance,
              reinterpret_cast<uint32_t*>(flag.data()));
  uint32_t is_far = 1;
  CUDA_CHECK(cudart().cudaMemcpyAsync(&is_far, flag.data(), sizeof is_far,
                                      nvidia::cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return is_far == 0;
}

}  // namespace deepbench::cuda
