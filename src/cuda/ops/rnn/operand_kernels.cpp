// Launches the kernels in rnn.cu that process whole operands.
#include "ops/rnn/operand_kernels.hpp"

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "kernels/jit.hpp"
#include "kernels/strided_layout.h"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kThreads = OPERAND_THREADS;
constexpr uint64_t kMaxBlocks = kComparisonBytes / sizeof(RecurrentErrors);

LaunchShape launch_shape_for(uint64_t count) {
  LaunchShape shape;
  shape.block_x = uint32_t(kThreads);
  shape.grid_x = uint32_t(std::clamp<uint64_t>((count + kThreads - 1) / kThreads, 1, kMaxBlocks));
  return shape;
}

}  // namespace

void fill_scaled(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream_number, double scale, const Stream& stream) {
  if (count == 0) return;
  fill(Matrix{data, type, count, 1, 1, 0}, inputs, seed, stream_number, stream);
  cuda::scale(data, type, count, float(scale), stream);
}

void negate(void* data, deepbench_type type, uint64_t count, const Stream& stream) {
  scale(data, type, count, -1.0f, stream);
}

void widen(const void* data, deepbench_type type, uint64_t count, double* to,
           const Stream& stream) {
  function("rnn", "widen_elements", stream)
      .launch(launch_shape_for(count), stream.get(), data, int32_t(type), count, to);
}

ForwardStateErrors compare_states(const double* stored, const double* expected, uint64_t count,
                                  double tolerance, const Stream& stream) {
  const LaunchShape shape = launch_shape_for(count);
  std::vector<RecurrentErrors> found(shape.grid_x);
  const uint64_t bytes = found.size() * sizeof(RecurrentErrors);
  const Buffer of_blocks(bytes);
  function("rnn", "compare_states", stream)
      .launch(shape, stream.get(), stored, expected, count, tolerance,
              reinterpret_cast<RecurrentErrors*>(of_blocks.data()));
  CUDA_CHECK(cudart().cudaMemcpyAsync(found.data(), of_blocks.data(), bytes,
                                      nvidia::cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  ForwardStateErrors errors;
  for (const RecurrentErrors& block : found)
    errors.add({block.outliers == 0, block.error, block.state, 0});
  errors.count = int64_t(count);
  return errors;
}

}  // namespace deepbench::cuda
