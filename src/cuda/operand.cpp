// Launches the built-in kernels for whole operands. Their scratch memory persists between calls, so
// that verifying a row allocates nothing.
#include "operand.hpp"

#include <algorithm>
#include <mutex>

#include "buffer.hpp"
#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/backend/memo_cache.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "kernels/jit.hpp"
#include "kernels/strided_layout.h"
#include "operand_launch.hpp"

namespace deepbench::cuda {
namespace {

using plugin::bits_of_one;
using plugin::non_finite_mask;
using plugin::poison_bits;

// Memory that grows on demand. Host memory is page-locked: kernels read and write it in place.
template <class Memory>
class Scratch {
 public:
  template <class Element>
  Element* array_of(uint64_t count) {
    if (count * sizeof(Element) > memory_.bytes()) memory_ = allocate(count * sizeof(Element));
    return reinterpret_cast<Element*>(memory_.data());
  }

 private:
  static Memory allocate(uint64_t bytes);
  Memory memory_;
};

constexpr uint64_t kSmallestScratch = 1 << 16;
constexpr uint64_t kScaleBlocks = 8;  // for each multiprocessor

template <>
Buffer Scratch<Buffer>::allocate(uint64_t bytes) {
  return Buffer(std::max(2 * bytes, kSmallestScratch));
}
template <>
HostBuffer Scratch<HostBuffer>::allocate(uint64_t bytes) {
  return HostBuffer(std::max(2 * bytes, kSmallestScratch), /*pageable=*/false);
}

// Loads all kernels of one device at once, so that none is loaded during the capture of a graph.
struct OperandKernels {
  explicit OperandKernels(const Stream& stream)
      : fill(function("operand", "fill_elements", stream)),
        fill_integers(function("operand", "fill_integers", stream)),
        scale(function("operand", "scale_elements", stream)),
        set(function("operand", "set_elements", stream)),
        scan(function("operand", "scan_elements", stream)),
        read(function("operand", "read_elements", stream)),
        project(function("projection", "project_columns", stream)),
        combine(function("projection", "combine_parts", stream)),
        transpose_bytes(function("transpose", "transpose_bytes", stream)),
        transpose_halves(function("transpose", "transpose_halves", stream)),
        transpose_words(function("transpose", "transpose_words", stream)),
        multiprocessors(device_facts(stream.device()).multiprocessors) {}

  const Function &fill, &fill_integers, &scale, &set, &scan, &read, &project, &combine;
  const Function &transpose_bytes, &transpose_halves, &transpose_words;
  const int multiprocessors;
  std::mutex mutex;  // guards the scratch memory
  Scratch<HostBuffer> host, more_host;
  Scratch<Buffer> device;
};

OperandKernels& operand_kernels(const Stream& stream) {
  static auto* instances = new plugin::MemoCache<int, OperandKernels*>();  // outlives the libraries
  return *instances->get(stream.device(), [&] { return new OperandKernels(stream); });
}

bool is_empty(const Matrix& matrix) { return matrix.elements() == 0; }

uint32_t bytes_of(const Matrix& matrix) { return uint32_t(size_of(matrix.type)); }

int32_t type_of(const Matrix& matrix) {
  return matrix.unsigned_words ? int32_t(DEEPBENCH_UNSIGNED_WORD) : int32_t(matrix.type);
}

void fill_with_bits(const Matrix& matrix, uint64_t bits, const Stream& stream) {
  const OperandKernels& kernels = operand_kernels(stream);
  const StridedLayout layout = strided_layout_of(matrix);
  kernels.set.launch(launch_shape_of(layout, kernels.multiprocessors), stream.get(), matrix.data,
                     bytes_of(matrix), layout, bits);
}

}  // namespace

void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand,
          const Stream& stream) {
  if (is_empty(matrix)) return;
  if (inputs != Inputs::kUniform)
    return fill_with_bits(matrix, inputs == Inputs::kOnes ? bits_of_one(matrix.type) : 0, stream);
  const OperandKernels& kernels = operand_kernels(stream);
  const StridedLayout layout = strided_layout_of(matrix);
  kernels.fill.launch(launch_shape_of(layout, kernels.multiprocessors), stream.get(), matrix.data,
                      int32_t(matrix.type), layout, seed, operand);
}

void fill_integers(const Matrix& matrix, deepbench_small_integers integers, uint64_t seed,
                   uint32_t operand, const Stream& stream) {
  if (is_empty(matrix)) return;
  const OperandKernels& kernels = operand_kernels(stream);
  const StridedLayout layout = strided_layout_of(matrix);
  kernels.fill_integers.launch(launch_shape_of(layout, kernels.multiprocessors), stream.get(),
                               matrix.data, int32_t(matrix.type), layout, integers, seed, operand);
}

void scale(void* data, deepbench_type type, uint64_t count, float factor, const Stream& stream) {
  if (count == 0) return;
  const OperandKernels& kernels = operand_kernels(stream);
  LaunchShape shape;
  shape.block_x = OPERAND_THREADS;
  shape.grid_x = uint32_t(std::clamp<uint64_t>(count / OPERAND_THREADS, 1,
                                               kScaleBlocks * uint64_t(kernels.multiprocessors)));
  kernels.scale.launch(shape, stream.get(), data, int32_t(type), count, factor);
}

void poison(const Matrix& matrix, const Stream& stream) {
  if (!is_empty(matrix)) fill_with_bits(matrix, poison_bits(matrix.type), stream);
}

deepbench_scan scan(const Matrix& matrix, const void* restored, const Stream& stream) {
  deepbench_scan total = {sizeof(deepbench_scan), matrix.elements(), 0, 0};
  if (is_empty(matrix)) return total;
  OperandKernels& kernels = operand_kernels(stream);
  const std::lock_guard<std::mutex> lock(kernels.mutex);
  const StridedLayout layout = strided_layout_of(matrix);
  const LaunchShape shape = launch_shape_of(layout, kernels.multiprocessors);
  const uint64_t blocks = uint64_t(shape.grid_x) * shape.grid_y;
  auto* const found = kernels.host.array_of<::ScanCounts>(blocks);
  kernels.scan.launch(shape, stream.get(), static_cast<const void*>(matrix.data), restored,
                      bytes_of(matrix), layout, poison_bits(matrix.type),
                      non_finite_mask(matrix.type), found);
  stream.synchronize();
  for (uint64_t block = 0; block < blocks; ++block) {
    total.untouched += found[block].untouched;
    total.non_finite += found[block].non_finite;
  }
  return total;
}

void project(const Matrix& matrix, uint64_t rows, uint64_t seed, double* sums,
             const Stream& stream) {
  OperandKernels& kernels = operand_kernels(stream);
  const std::lock_guard<std::mutex> lock(kernels.mutex);
  const ProjectionPlan plan = plan_projection(matrix, rows, kernels.multiprocessors);
  double* const found = kernels.host.array_of<double>(rows);
  double* const partial = kernels.device.array_of<double>(plan.partial_bytes() / sizeof(double));
  kernels.project.launch(plan.shape, stream.get(), static_cast<const void*>(matrix.data),
                         type_of(matrix), plan.projection, seed, partial);
  kernels.combine.launch(plan.combine_shape, stream.get(), static_cast<const double*>(partial),
                         rows, uint64_t(plan.shape.grid_y), plan.combine_row_threads, found);
  stream.synchronize();
  std::copy(found, found + rows, sums);
}

void read(const Matrix& matrix, const uint64_t* indices, size_t count, double* values,
          const Stream& stream) {
  const uint64_t elements = matrix.elements();
  for (size_t i = 0; i < count; ++i) plugin::require_element(indices[i], elements);
  if (count == 0) return;
  OperandKernels& kernels = operand_kernels(stream);
  const std::lock_guard<std::mutex> lock(kernels.mutex);
  uint64_t* const requested = kernels.host.array_of<uint64_t>(count);
  double* const found = kernels.more_host.array_of<double>(count);
  std::copy(indices, indices + count, requested);
  LaunchShape shape;
  shape.block_x = OPERAND_THREADS;
  shape.grid_x = uint32_t((count + OPERAND_THREADS - 1) / OPERAND_THREADS);
  kernels.read.launch(shape, stream.get(), static_cast<const void*>(matrix.data), type_of(matrix),
                      tensor_of(matrix), static_cast<const uint64_t*>(requested), uint64_t(count),
                      found);
  stream.synchronize();
  std::copy(found, found + count, values);
}

void transpose(const Matrix& from, const Matrix& to, const Stream& stream) {
  const LaunchShape shape = transpose_launch_shape(from, to);
  if (is_empty(from)) return;
  const OperandKernels& kernels = operand_kernels(stream);
  const Function& kernel = size_of(from.type) == 1   ? kernels.transpose_bytes
                           : size_of(from.type) == 2 ? kernels.transpose_halves
                                                     : kernels.transpose_words;
  kernel.launch(shape, stream.get(), static_cast<const void*>(from.data), to.data, from.rows,
                from.columns, from.column_stride, to.column_stride);
}

}  // namespace deepbench::cuda
