// The built-in kernels on operands, run by the host without a device: every index and every sum.
#include <sys/mman.h>

#include <cmath>
#include <utility>

#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/backend/host_elements.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"
#include "operand_checks.hpp"
#include "operand_launch.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel sources to an include folder.
#include <operand.cu>
#include <projection.cu>
#include <transpose.cu>

namespace deepbench::cuda_test {
namespace {

constexpr cuda::LaunchShape kFewThreads = {3, 1, 1, 32, 1, 1, 0};
constexpr int kMultiprocessors = 1;  // few blocks, so that each has several rounds

class HostPlatform final : public Platform {
 public:
  std::byte* put(const Bytes& bytes) override {
    // Guard bytes after the array, which no kernel may touch.
    arrays_.emplace_back(bytes.size() + 16);
    std::copy(bytes.begin(), bytes.end(), arrays_.back().begin());
    return arrays_.back().data();
  }
  Bytes get(const void* data, size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(data);
    return Bytes(begin, begin + bytes);
  }

  void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand) override {
    if (inputs != Inputs::kUniform)
      return set(matrix, inputs == Inputs::kOnes ? plugin::bits_of_one(matrix.type) : 0);
    const StridedLayout layout = cuda::strided_layout_of(matrix);
    emulate(cuda::launch_shape_of(layout, kMultiprocessors), Barriers::kNone,
            [&] { fill_elements(matrix.data, matrix.type, layout, seed, operand); });
  }

  void fill_integers(const Matrix& matrix, deepbench_small_integers integers, uint64_t seed,
                     uint32_t operand) override {
    const StridedLayout layout = cuda::strided_layout_of(matrix);
    emulate(cuda::launch_shape_of(layout, kMultiprocessors), Barriers::kNone,
            [&] { ::fill_integers(matrix.data, matrix.type, layout, integers, seed, operand); });
  }

  void poison(const Matrix& matrix) override { set(matrix, plugin::poison_bits(matrix.type)); }

  deepbench_scan scan(const Matrix& matrix, const void* restored) override {
    const StridedLayout layout = cuda::strided_layout_of(matrix);
    const cuda::LaunchShape shape = cuda::launch_shape_of(layout, kMultiprocessors);
    std::vector<ScanCounts> found(shape.grid_x * shape.grid_y);
    emulate(shape, Barriers::kUsed, [&] {
      scan_elements(matrix.data, restored, uint32_t(size_of(matrix.type)), layout,
                    plugin::poison_bits(matrix.type), plugin::non_finite_mask(matrix.type),
                    found.data());
    });
    deepbench_scan total = {sizeof total, matrix.elements(), 0, 0};
    for (const ScanCounts& block : found)
      total.untouched += block.untouched, total.non_finite += block.non_finite;
    return total;
  }

  std::vector<double> project(const Matrix& matrix, uint64_t rows, uint64_t seed) override {
    const cuda::ProjectionPlan plan = cuda::plan_projection(matrix, rows, kMultiprocessors);
    std::vector<double> partial(plan.partial_bytes() / sizeof(double)), sums(rows);
    emulate(plan.shape, Barriers::kUsed, [&] {
      project_columns(matrix.data, type_of(matrix), plan.projection, seed, partial.data());
    });
    emulate(plan.combine_shape, Barriers::kUsed, [&] {
      combine_parts(partial.data(), rows, plan.shape.grid_y, plan.combine_row_threads, sums.data());
    });
    return sums;
  }

  std::vector<double> read(const Matrix& matrix, const std::vector<uint64_t>& indices) override {
    for (const uint64_t index : indices)
      if (index >= matrix.elements()) plugin::invalid("an index beyond the operand");
    std::vector<double> values(indices.size());
    cuda::LaunchShape shape;
    shape.block_x = OPERAND_THREADS;
    shape.grid_x = uint32_t((indices.size() + OPERAND_THREADS - 1) / OPERAND_THREADS);
    emulate(shape, Barriers::kNone, [&] {
      read_elements(matrix.data, type_of(matrix), cuda::tensor_of(matrix), indices.data(),
                    indices.size(), values.data());
    });
    return values;
  }

  void transpose(const Matrix& from, const Matrix& to) override {
    const auto size = size_of(from.type);
    emulate(cuda::transpose_launch_shape(from, to), Barriers::kUsed, [&] {
      (size == 1   ? transpose_bytes
       : size == 2 ? transpose_halves
                   : transpose_words)(from.data, to.data, from.rows, from.columns,
                                      from.column_stride, to.column_stride);
    });
  }

 private:
  static int32_t type_of(const Matrix& matrix) {
    return matrix.unsigned_words ? int32_t(DEEPBENCH_UNSIGNED_WORD) : int32_t(matrix.type);
  }
  void set(const Matrix& matrix, uint64_t bits) {
    const StridedLayout layout = cuda::strided_layout_of(matrix);
    emulate(cuda::launch_shape_of(layout, kMultiprocessors), Barriers::kNone,
            [&] { set_elements(matrix.data, uint32_t(size_of(matrix.type)), layout, bits); });
  }

  std::vector<Bytes> arrays_;
};

TEST_CASE("kernels on the host: fill is correct") {
  HostPlatform host;
  check_fill(host);
  check_integers(host);
  check_constants(host);
}

TEST_CASE("kernels on the host: poison and scan are correct") {
  HostPlatform host;
  check_poison_and_scan(host);
  check_scan_in_place(host);
}

TEST_CASE("kernels on the host: project is correct") {
  HostPlatform host;
  check_projection(host);
  check_sums_repeat(host);
  check_unsigned_words(host);
}

TEST_CASE("kernels on the host: read is correct") {
  HostPlatform host;
  check_read(host);
}

TEST_CASE("kernels on the host: transpose is correct") {
  HostPlatform host;
  check_transpose(host);
}

// Reserved address space, of which only touched pages take memory.
class VastMatrix {
 public:
  explicit VastMatrix(uint64_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~VastMatrix() {
    if (is_mapped()) munmap(data_, bytes_);
  }
  VastMatrix(const VastMatrix&) = delete;
  VastMatrix& operator=(const VastMatrix&) = delete;
  bool is_mapped() const { return data_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  uint64_t bytes_;
  void* data_;
};

// Checks a matrix whose elements are more than 32 bits apart.
void check_far_apart(HostPlatform& host, const Matrix& matrix) {
  std::vector<uint64_t> indices(matrix.elements());
  std::vector<double> expected;
  for (uint64_t i = 0; i < indices.size(); ++i) {
    indices[i] = i;
    expected.push_back(deepbench_element(DEEPBENCH_S8, 11, 2, i));
  }
  host.fill(matrix, Inputs::kUniform, 11, 2);
  CHECK(host.read(matrix, indices) == expected);
  const std::vector<double> sums = host.project(matrix, matrix.rows, 5);
  for (uint64_t row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    for (uint64_t j = 0; row + j * matrix.rows < expected.size(); ++j)
      sum += expected[row + j * matrix.rows] * deepbench_weight(5, j);
    CHECK(sums[row] == doctest::Approx(sum).epsilon(1e-12));
  }
  host.poison(matrix);
  CHECK(host.scan(matrix, nullptr).untouched == matrix.elements());
}

TEST_CASE("kernels on the host: positions and indices beyond 32 bits are correct") {
  constexpr uint64_t kFar = (uint64_t{1} << 32) + 8;
  const VastMatrix first(2 * kFar + 64), second(2 * kFar + 64);
  if (!first.is_mapped() || !second.is_mapped()) {
    MESSAGE("nothing tested: no address space");
    return;
  }
  HostPlatform host;
  const Matrix by_columns = {first.data(), DEEPBENCH_S8, 5, 3, 1, kFar};
  const Matrix by_rows = {second.data(), DEEPBENCH_S8, 3, 5, kFar, 1};
  Matrix planes = {first.data(), DEEPBENCH_S8, 2, 2, 1, 2};
  planes.planes = 3, planes.plane_stride = kFar;
  for (const Matrix& matrix : {by_columns, by_rows, planes}) check_far_apart(host, matrix);

  const Matrix transposed = {second.data(), DEEPBENCH_S8, 3, 5, 1, kFar / 4};
  host.fill(by_columns, Inputs::kUniform, 11, 2);
  host.transpose(by_columns, transposed);
  for (uint64_t j = 0; j < 3; ++j)
    for (uint64_t i = 0; i < 5; ++i)
      CHECK(host.read(transposed, {j + 3 * i}) == host.read(by_columns, {i + 5 * j}));

  const Matrix array = {first.data(), DEEPBENCH_S8, 2 * kFar, 1, 1, 0};
  first.data()[kFar + 3] = std::byte{77};
  CHECK(host.read(array, {kFar + 3}) == std::vector<double>{77});
}

TEST_CASE("outputs cannot be projected to a number of rows that does not divide them") {
  Matrix matrix;
  matrix.rows = 6;
  CHECK_THROWS_AS(cuda::plan_projection(matrix, 4, 1), plugin::Error);
  CHECK_THROWS_AS(cuda::plan_projection(matrix, 0, 1), plugin::Error);
}

TEST_CASE("large operands stay within the limits of a grid") {
  Matrix matrix;
  matrix.rows = uint64_t{1} << 36;
  for (const uint64_t columns : {uint64_t{1}, uint64_t{1} << 20}) {
    matrix.columns = columns;
    matrix.column_stride = matrix.rows + 1;
    const cuda::LaunchShape shape = cuda::launch_shape_of(cuda::strided_layout_of(matrix), 132);
    CHECK(uint64_t(shape.grid_x) * shape.grid_y <= 132 * 16);
    CHECK(shape.block_x * shape.block_y == OPERAND_THREADS);
  }
  // Shapes of products with a dimension near or beyond 2^31.
  for (const auto& [rows, columns] : {std::pair<uint64_t, uint64_t>{2000000000, 1},
                                      {uint64_t{1} << 33, 3},
                                      {1, 2000000000},
                                      {3, uint64_t{1} << 33}}) {
    matrix.rows = rows, matrix.columns = columns, matrix.column_stride = rows;
    const cuda::ProjectionPlan plan = cuda::plan_projection(matrix, rows, 132);
    const Projection& p = plan.projection;
    CHECK(plan.shape.grid_x < uint64_t{1} << 31);
    CHECK(plan.shape.grid_y <= 65535);
    CHECK(uint64_t(plan.shape.grid_x) * p.row_threads * PROJECTION_ROWS >= rows);
    CHECK(p.columns_of_block * plan.shape.grid_y >= columns);
    CHECK(plan.combine_shape.grid_x < uint64_t{1} << 31);
    CHECK(uint64_t(plan.combine_shape.grid_x) * plan.combine_row_threads >= rows);
    const Matrix other = {nullptr, DEEPBENCH_F32, columns, rows, 1, columns};
    matrix.type = DEEPBENCH_F32;
    CHECK(cuda::transpose_launch_shape(matrix, other).grid_x >= std::max(rows, columns) / 32);
  }
  matrix.rows = 3072, matrix.columns = 7000, matrix.column_stride = 3072;
  const cuda::ProjectionPlan plan = cuda::plan_projection(matrix, 3072, 132);
  CHECK(plan.shape.grid_x == 24);
  CHECK(plan.shape.grid_y == 44);
  CHECK(plan.projection.columns_of_block * plan.shape.grid_y >= 7000);
}

TEST_CASE("operand kernels: arrays are scaled and rounded as their type stores them") {
  std::vector<float> floats = {1, -0.75f, 0, 3e-6f};
  emulate(kFewThreads, Barriers::kNone,
          [&] { scale_elements(floats.data(), DEEPBENCH_F32, floats.size(), 0.125f); });
  CHECK(floats == std::vector<float>{0.125f, -0.09375f, 0, 3e-6f / 8});

  for (const deepbench_type type : {DEEPBENCH_F16, DEEPBENCH_BF16}) {
    std::vector<uint16_t> words;
    for (uint64_t i = 0; i < 200; ++i)
      words.push_back(type == DEEPBENCH_F16
                          ? deepbench_to_half(deepbench_uniform(1, 2, i) / float(1 + i * i))
                          : deepbench_to_bfloat16(deepbench_uniform(1, 2, i)));
    const std::vector<uint16_t> before = words;
    emulate(kFewThreads, Barriers::kNone,
            [&] { scale_elements(words.data(), type, words.size(), 1.0f / 64); });
    for (size_t i = 0; i < 200; ++i) {
      const float value =
          type == DEEPBENCH_F16
              ? deepbench_from_half(deepbench_to_half(deepbench_from_half(before[i]) / 64))
              : deepbench_from_bfloat16(before[i]) / 64;
      CHECK(plugin::element(words.data(), type, i) == double(value));
    }
  }
}

// The gradient of the weights of a recurrent layer begins with negative zeros, because adding a
// value to one gives exactly that value.
TEST_CASE("operand kernels: negated zeros serve as poison, because no sum produces them") {
  uint16_t half = 0;
  float single = 0;
  emulate({1, 1, 1, 1, 1, 1, 0}, Barriers::kNone, [&] {
    scale_elements(&half, DEEPBENCH_F16, 1, -1);
    scale_elements(&single, DEEPBENCH_F32, 1, -1);
  });
  CHECK(half == 0x8000);
  CHECK(std::signbit(single));
  CHECK_FALSE(std::signbit(single + 0.0f));
}

}  // namespace
}  // namespace deepbench::cuda_test
