// Our kernels on operands, run by the host: every index and every sum, without a device.
#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/ops/precision.hpp"
#include "deepbench/plugin.hpp"
#include "operand_checks.hpp"
#include "operand_plan.hpp"

// What makes CUDA of the rest of the file.
#include "emulated.hpp"

// From the folder that the build puts them in.
#include <operand.cu>
#include <projection.cu>
#include <transpose.cu>

namespace deepbench::cuda_test {
namespace {

constexpr int kMultiprocessors = 1;  // few blocks, so that each goes round several times

class Host final : public Platform {
 public:
  std::byte* put(const Bytes& bytes) override {
    // Words beside the array that nothing may touch.
    kept_.emplace_back(bytes.size() + 16);
    std::copy(bytes.begin(), bytes.end(), kept_.back().begin());
    return kept_.back().data();
  }
  Bytes get(const void* data, size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(data);
    return Bytes(begin, begin + bytes);
  }

  void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand) override {
    if (inputs != Inputs::kUniform)
      return set(matrix, inputs == Inputs::kOnes ? plugin::bits_of_one(matrix.type) : 0);
    const Walk walk = cuda::walk_of(matrix);
    emulate(cuda::shape_of(walk, kMultiprocessors), Barriers::kNone,
            [&] { fill_elements(matrix.data, matrix.type, walk, seed, operand); });
  }

  void poison(const Matrix& matrix) override { set(matrix, plugin::poison_bits(matrix.type)); }

  deepbench_scan scan(const Matrix& matrix, const void* restored) override {
    const Walk walk = cuda::walk_of(matrix);
    const cuda::Shape shape = cuda::shape_of(walk, kMultiprocessors);
    std::vector<Found> found(shape.grid_x * shape.grid_y);
    emulate(shape, Barriers::kSome, [&] {
      scan_elements(matrix.data, restored, uint32_t(size_of(matrix.type)), walk,
                    plugin::poison_bits(matrix.type), plugin::non_finite_mask(matrix.type),
                    found.data());
    });
    deepbench_scan total = {sizeof total, matrix.elements(), 0, 0};
    for (const Found& block : found)
      total.untouched += block.untouched, total.non_finite += block.non_finite;
    return total;
  }

  std::vector<double> project(const Matrix& matrix, uint64_t rows, uint64_t seed) override {
    const cuda::ProjectionPlan plan = cuda::plan_projection(matrix, rows, kMultiprocessors);
    std::vector<double> partial(plan.partial_bytes() / sizeof(double)), sums(rows);
    emulate(plan.shape, Barriers::kSome, [&] {
      project_columns(matrix.data, type_of(matrix), plan.projection, seed, partial.data());
    });
    emulate(plan.combining, Barriers::kSome, [&] {
      combine_parts(partial.data(), rows, plan.shape.grid_y, plan.combining_row_threads,
                    sums.data());
    });
    return sums;
  }

  std::vector<double> read(const Matrix& matrix, const std::vector<uint64_t>& indices) override {
    for (const uint64_t index : indices)
      if (index >= matrix.elements()) plugin::invalid("an index outside");
    std::vector<double> values(indices.size());
    cuda::Shape shape;
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
    emulate(cuda::shape_of_transpose(from, to), Barriers::kSome, [&] {
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
    const Walk walk = cuda::walk_of(matrix);
    emulate(cuda::shape_of(walk, kMultiprocessors), Barriers::kNone,
            [&] { set_elements(matrix.data, uint32_t(size_of(matrix.type)), walk, bits); });
  }

  std::vector<Bytes> kept_;
};

TEST_CASE("kernels on the host: fill") {
  Host host;
  check_fill(host);
  check_constants(host);
}

TEST_CASE("kernels on the host: poison and scan") {
  Host host;
  check_poison_and_scan(host);
  check_scan_in_place(host);
}

TEST_CASE("kernels on the host: project") {
  Host host;
  check_projection(host);
  check_sums_repeat(host);
  check_unsigned_words(host);
}

TEST_CASE("kernels on the host: read") {
  Host host;
  check_read(host);
}

TEST_CASE("kernels on the host: transpose") {
  Host host;
  check_transpose(host);
}

TEST_CASE("outputs that are no matrix of so many rows cannot be projected") {
  Matrix matrix;
  matrix.rows = 6;
  CHECK_THROWS_AS(cuda::plan_projection(matrix, 4, 1), plugin::Error);
  CHECK_THROWS_AS(cuda::plan_projection(matrix, 0, 1), plugin::Error);
}

TEST_CASE("large operands keep within the limits of a grid") {
  Matrix matrix;
  matrix.rows = uint64_t{1} << 36;
  for (const uint64_t columns : {uint64_t{1}, uint64_t{1} << 20}) {
    matrix.columns = columns;
    matrix.column_stride = matrix.rows + 1;
    const cuda::Shape shape = cuda::shape_of(cuda::walk_of(matrix), 132);
    CHECK(uint64_t(shape.grid_x) * shape.grid_y <= 132 * 16);
    CHECK(shape.block_x * shape.block_y == OPERAND_THREADS);
  }
  matrix.rows = 3072, matrix.columns = 7000, matrix.column_stride = 3072;
  const cuda::ProjectionPlan plan = cuda::plan_projection(matrix, 3072, 132);
  CHECK(plan.shape.grid_x == 24);
  CHECK(plan.shape.grid_y == 44);
  CHECK(plan.projection.columns_of_block * plan.shape.grid_y >= 7000);
}

}  // namespace
}  // namespace deepbench::cuda_test
