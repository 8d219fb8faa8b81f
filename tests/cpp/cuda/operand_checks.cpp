// The checks, which compare with fill.h on the host.
#include "operand_checks.hpp"

#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>

#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 11;
constexpr uint32_t kOperand = 2;
constexpr deepbench_type kTypes[] = {DEEPBENCH_F64,  DEEPBENCH_F32,  DEEPBENCH_F16, DEEPBENCH_BF16,
                                     DEEPBENCH_E4M3, DEEPBENCH_E5M2, DEEPBENCH_S32, DEEPBENCH_S8,
                                     DEEPBENCH_U8,   DEEPBENCH_S7};
constexpr auto kPadding = std::byte{0xa5};

struct MatrixLayout {
  uint64_t rows, columns, row_stride, column_stride;
  uint64_t planes = 1, plane_stride = 0;

  uint64_t count() const { return rows * columns * planes; }
  uint64_t elements() const {  // elements of memory
    return 1 + (rows - 1) * row_stride + (columns - 1) * column_stride +
           (planes - 1) * plane_stride;
  }
  // The position in memory of an element of the operand.
  uint64_t position(uint64_t index) const {
    return index % rows * row_stride + index / rows % columns * column_stride +
           index / rows / columns * plane_stride;
  }
};

// An array, padded, transposed, transposed and padded, one row, one column, strided, and larger
// matrices; then tensors with channels first and last, plain, padded, and with planes as the
// nearest dimension.
constexpr MatrixLayout kLayouts[] = {
    {1000, 1, 1, 0},        {35, 17, 1, 35},        {35, 17, 1, 40},       {35, 17, 17, 1},
    {35, 17, 24, 1},        {1, 700, 0, 1},         {1, 70, 1, 8},         {9, 1, 3, 0},
    {300, 41, 1, 304},      {3, 2000, 1, 3},        {2, 1500, 1600, 1},    {1, 1, 1, 1},
    {35, 5, 1, 35, 4, 175}, {35, 5, 1, 35, 4, 280}, {35, 5, 8, 1, 4, 280}, {35, 4, 8, 280, 5, 1},
    {35, 4, 1, 280, 5, 35}, {1, 40, 1, 30, 30, 1}};

std::string layout_text(const MatrixLayout& layout, deepbench_type type) {
  return "type " + std::to_string(type) + ", " + std::to_string(layout.rows) + " x " +
         std::to_string(layout.columns) + ", strides " + std::to_string(layout.row_stride) + ", " +
         std::to_string(layout.column_stride) + "; " + std::to_string(layout.planes) +
         " planes, stride " + std::to_string(layout.plane_stride);
}

// All layouts for one type of each size, three for every other type.
std::vector<MatrixLayout> layouts_of(deepbench_type type) {
  const std::vector<MatrixLayout> all(std::begin(kLayouts), std::end(kLayouts));
  const bool thorough = type == DEEPBENCH_F64 || type == DEEPBENCH_F32 || type == DEEPBENCH_F16 ||
                        type == DEEPBENCH_S8;
  return thorough ? all : std::vector<MatrixLayout>{all[2], all[4], all[14]};
}

Matrix matrix_of(const MatrixLayout& layout, deepbench_type type, std::byte* data) {
  Matrix matrix;
  matrix.data = data;
  matrix.type = type;
  matrix.rows = layout.rows, matrix.columns = layout.columns;
  matrix.row_stride = layout.row_stride, matrix.column_stride = layout.column_stride;
  matrix.planes = layout.planes, matrix.plane_stride = layout.plane_stride;
  return matrix;
}

size_t bytes_of(const MatrixLayout& layout, deepbench_type type) {
  return layout.elements() * size_t(size_of(type));
}

// The bits of the generator's element `index` as memory holds it.
uint64_t stored_bits(deepbench_type type, uint64_t index) {
  const float value = deepbench_uniform(kSeed, kOperand, index);
  const double wide = value;
  uint64_t bits = 0;
  switch (type) {
    case DEEPBENCH_F64:
      std::memcpy(&bits, &wide, sizeof wide);
      return bits;
    case DEEPBENCH_F32:
      return deepbench_float_bits(value);
    case DEEPBENCH_F16:
      return deepbench_to_half(value);
    case DEEPBENCH_BF16:
      return deepbench_to_bfloat16(value);
    case DEEPBENCH_E4M3:
      return deepbench_to_e4m3(value);
    case DEEPBENCH_E5M2:
      return deepbench_to_e5m2(value);
    case DEEPBENCH_S32:
      return uint32_t(deepbench_integer(type, kSeed, kOperand, index));
    default:
      return uint8_t(deepbench_integer(type, kSeed, kOperand, index));
  }
}

uint64_t bits_at(const Bytes& bytes, deepbench_type type, uint64_t position) {
  const auto size = size_t(size_of(type));
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + position * size, size);
  return bits;
}

// The number of bytes outside of the matrix that differ from the padding.
uint64_t overwritten_padding_bytes(const Bytes& bytes, const MatrixLayout& layout,
                                   deepbench_type type) {
  std::vector<bool> inside(layout.elements());
  for (uint64_t index = 0; index < layout.count(); ++index) inside[layout.position(index)] = true;
  const auto size = uint64_t(size_of(type));
  uint64_t count = 0;
  for (uint64_t i = 0; i < bytes.size(); ++i) count += !inside[i / size] && bytes[i] != kPadding;
  return count;
}

Matrix filled_matrix(Platform& platform, const MatrixLayout& layout, deepbench_type type) {
  const Matrix matrix =
      matrix_of(layout, type, platform.put(Bytes(bytes_of(layout, type), kPadding)));
  platform.fill(matrix, Inputs::kUniform, kSeed, kOperand);
  return matrix;
}

}  // namespace

void check_fill(Platform& platform) {
  for (const deepbench_type type : kTypes)
    for (const MatrixLayout& layout : layouts_of(type)) {
      INFO(layout_text(layout, type));
      const Matrix matrix = filled_matrix(platform, layout, type);
      const Bytes bytes = platform.get(matrix.data, bytes_of(layout, type));
      uint64_t wrong = 0;
      for (uint64_t index = 0; index < layout.count(); ++index)
        wrong += bits_at(bytes, type, layout.position(index)) != stored_bits(type, index);
      CHECK(wrong == 0);
      CHECK(overwritten_padding_bytes(bytes, layout, type) == 0);
    }
}

void check_integers(Platform& platform) {
  constexpr deepbench_small_integers kIntegers = {1u << 27, 7};
  for (const deepbench_type type : kTypes) {
    if (type == DEEPBENCH_U8) continue;  // has no negative numbers
    CAPTURE(type);
    const MatrixLayout layout = {5, 3, 1, 8};
    const Matrix matrix = filled_matrix(platform, layout, type);
    platform.fill_integers(matrix, kIntegers, kSeed, kOperand);
    std::vector<uint64_t> all(15);
    std::iota(all.begin(), all.end(), uint64_t{0});
    const std::vector<double> values = platform.read(matrix, all);
    for (const uint64_t index : all)
      CHECK(values[index] == deepbench_small_integer(kIntegers, kSeed, kOperand, index));
    CHECK(overwritten_padding_bytes(platform.get(matrix.data, bytes_of(layout, type)), layout,
                                    type) == 0);
  }
}

void check_constants(Platform& platform) {
  for (const deepbench_type type : kTypes) {
    CAPTURE(type);
    const MatrixLayout layout = {5, 3, 1, 8};
    const Matrix matrix = filled_matrix(platform, layout, type);
    std::vector<uint64_t> all(15);
    std::iota(all.begin(), all.end(), uint64_t{0});
    platform.fill(matrix, Inputs::kOnes, kSeed, kOperand);
    for (const double value : platform.read(matrix, all)) CHECK(value == 1);
    platform.fill(matrix, Inputs::kZeros, kSeed, kOperand);
    for (const double value : platform.read(matrix, all)) CHECK(value == 0);
    CHECK(overwritten_padding_bytes(platform.get(matrix.data, bytes_of(layout, type)), layout,
                                    type) == 0);
  }
}

void check_poison_and_scan(Platform& platform) {
  for (const deepbench_type type : kTypes)
    for (const MatrixLayout& layout : layouts_of(type)) {
      INFO(layout_text(layout, type));
      const uint64_t count = layout.count();
      const bool one_byte = size_of(type) == 1;
      const Matrix matrix =
          matrix_of(layout, type, platform.put(Bytes(bytes_of(layout, type), kPadding)));
      platform.poison(matrix);
      deepbench_scan scan = platform.scan(matrix, nullptr);
      CHECK(scan.count == count);
      CHECK(scan.untouched == count);
      CHECK(scan.non_finite == 0);
      CHECK(overwritten_padding_bytes(platform.get(matrix.data, bytes_of(layout, type)), layout,
                                      type) == 0);
      platform.fill(matrix, Inputs::kUniform, kSeed, kOperand);
      scan = platform.scan(matrix, nullptr);
      if (!one_byte) CHECK(scan.untouched == 0);  // a single byte may equal the poison by chance
      CHECK(scan.non_finite == 0);

      // All bits set is a NaN that differs from the poison, in every format with more than one NaN.
      const auto size = size_t(size_of(type));
      Bytes bytes = platform.get(matrix.data, bytes_of(layout, type));
      const uint64_t last = layout.position(count - 1);
      std::memset(bytes.data() + last * size, 0xff, size);
      const Matrix copy = matrix_of(layout, type, platform.put(bytes));
      const bool integer = type == DEEPBENCH_S32 || type == DEEPBENCH_S8 || type == DEEPBENCH_U8 ||
                           type == DEEPBENCH_S7;
      CHECK(platform.scan(copy, nullptr).non_finite == (integer ? 0 : 1));
    }
}

void check_scan_in_place(Platform& platform) {
  const MatrixLayout layout = {40, 30, 1, 48};
  const Matrix before = filled_matrix(platform, layout, DEEPBENCH_F16);
  Bytes bytes = platform.get(before.data, bytes_of(layout, DEEPBENCH_F16));
  std::vector<uint16_t> words(layout.elements());
  std::memcpy(words.data(), bytes.data(), bytes.size());
  words[0] ^= 1;
  words[layout.position(layout.count() - 1)] = 0x7c00;  // an infinity
  words[layout.position(7 + 3 * layout.rows)] ^= 0x8000;
  std::memcpy(bytes.data(), words.data(), bytes.size());
  const Matrix after = matrix_of(layout, DEEPBENCH_F16, platform.put(bytes));
  const deepbench_scan scan = platform.scan(after, before.data);
  CHECK(scan.count == 1200);
  CHECK(scan.untouched == 1197);
  CHECK(scan.non_finite == 1);
}

void check_projection(Platform& platform) {
  for (const deepbench_type type : kTypes)
    for (const MatrixLayout& layout : layouts_of(type)) {
      const uint64_t count = layout.count();
      const Matrix matrix = filled_matrix(platform, layout, type);
      std::vector<uint64_t> all_rows = {layout.rows};
      if (type == DEEPBENCH_F32)
        all_rows = {layout.rows, 1, count, layout.columns, layout.rows * layout.columns};
      for (const uint64_t rows : all_rows) {
        INFO(layout_text(layout, type), ", projected to ", rows);
        const std::vector<double> sums = platform.project(matrix, rows, 99);
        std::vector<double> expected(rows), magnitude(rows);
        for (uint64_t index = 0; index < count; ++index) {
          const double product =
              deepbench_element(type, kSeed, kOperand, index) * deepbench_weight(99, index / rows);
          expected[index % rows] += product;
          magnitude[index % rows] += std::abs(product);
        }
        REQUIRE(sums.size() == rows);
        uint64_t wrong = 0;
        for (uint64_t row = 0; row < rows; ++row)
          wrong += !(std::abs(sums[row] - expected[row]) <= 1e-13 * magnitude[row]);
        CHECK(wrong == 0);
      }
    }
}

void check_sums_repeat(Platform& platform) {
  const Matrix matrix = filled_matrix(platform, {300, 41, 1, 304}, DEEPBENCH_F16);
  CHECK(platform.project(matrix, 300, 5) == platform.project(matrix, 300, 5));
}

void check_unsigned_words(Platform& platform) {
  const std::vector<uint32_t> words = {0u, 1u, 0x80000001u, 0xfffffffeu};
  Bytes bytes(words.size() * sizeof words[0]);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  Matrix matrix = matrix_of({words.size(), 1, 1, 0}, DEEPBENCH_S32, platform.put(bytes));
  matrix.unsigned_words = true;
  CHECK(platform.read(matrix, {3, 2, 1, 0}) ==
        std::vector<double>{4294967294.0, 2147483649.0, 1.0, 0.0});
  double expected = 0;
  for (uint64_t i = 0; i < words.size(); ++i) expected += words[i] * deepbench_weight(4, i);
  CHECK(platform.project(matrix, 1, 4)[0] == doctest::Approx(expected).epsilon(1e-14));
  CHECK(platform.scan(matrix, nullptr).untouched == 1);
}

void check_read(Platform& platform) {
  for (const deepbench_type type : kTypes)
    for (const MatrixLayout& layout : layouts_of(type)) {
      INFO(layout_text(layout, type));
      const Matrix matrix = filled_matrix(platform, layout, type);
      const uint64_t count = layout.count();
      std::vector<uint64_t> indices;
      for (uint64_t i = 0; i < 600; ++i) indices.push_back(i * 7919 % count);
      indices.push_back(count - 1);
      const std::vector<double> values = platform.read(matrix, indices);
      uint64_t wrong = 0;
      for (size_t i = 0; i < indices.size(); ++i)
        wrong += values[i] != deepbench_element(type, kSeed, kOperand, indices[i]);
      CHECK(wrong == 0);
      CHECK_THROWS(platform.read(matrix, {count}));
    }
}

void check_transpose(Platform& platform) {
  struct TransposeCase {
    uint64_t rows, columns, from_stride, to_stride;
  };
  // Covers whole tiles, edges in both directions, and strides that are not aligned to words, in
  // either matrix or both.
  constexpr TransposeCase kCases[] = {{128, 128, 128, 128}, {256, 384, 256, 384}, {35, 17, 35, 17},
                                      {130, 67, 132, 68},   {1, 300, 4, 300},     {300, 1, 300, 4},
                                      {7, 5, 9, 11},        {129, 257, 131, 259}, {64, 33, 64, 36}};
  for (const deepbench_type type : {DEEPBENCH_S8, DEEPBENCH_F16, DEEPBENCH_F32})
    for (const TransposeCase& c : kCases) {
      INFO(layout_text({c.rows, c.columns, 1, c.from_stride}, type), " to ", c.to_stride);
      const MatrixLayout from_layout = {c.rows, c.columns, 1, c.from_stride};
      const MatrixLayout to_layout = {c.columns, c.rows, 1, c.to_stride};
      const Matrix from = filled_matrix(platform, from_layout, type);
      const Matrix to =
          matrix_of(to_layout, type, platform.put(Bytes(bytes_of(to_layout, type), kPadding)));
      platform.transpose(from, to);
      const Bytes bytes = platform.get(to.data, bytes_of(to_layout, type));
      uint64_t wrong = 0;
      for (uint64_t j = 0; j < c.columns; ++j)
        for (uint64_t i = 0; i < c.rows; ++i)
          wrong += bits_at(bytes, type, to_layout.position(j + i * c.columns)) !=
                   stored_bits(type, i + j * c.rows);
      CHECK(wrong == 0);
      CHECK(overwritten_padding_bytes(bytes, to_layout, type) == 0);
    }
}

}  // namespace deepbench::cuda_test
