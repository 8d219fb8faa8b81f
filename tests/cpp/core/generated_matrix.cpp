// Tests sums over arrays and products of generated matrices against plain loops, at every SIMD
// level.
#include "deepbench/core/generated_matrix.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "deepbench/core/sums.hpp"
#include "simd_levels.hpp"

namespace deepbench {
namespace {

using testing::for_each_simd_level;

TEST_CASE("sums over two arrays equal those of a plain loop") {
  const InputGenerator inputs(4, "uniform");
  for (int64_t count : {0, 1, 15, 16, 17, 1000}) {
    std::vector<float> a(static_cast<size_t>(count)), b(a.size());
    inputs.fill(DEEPBENCH_S8, 0, 0, 1, count, a.data());
    inputs.fill(DEEPBENCH_U8, 1, 0, 1, count, b.data());
    const std::vector<double> weights(b.begin(), b.end());
    // sums of integers, which are exact in any order
    double products = 0, squared_products = 0, squares = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double product = double(a[i]) * double(b[i]);
      products += product, squared_products += product * product;
      squares += double(a[i]) * double(a[i]);
    }
    for_each_simd_level([&] {
      CHECK(dot_sums(a.data(), b.data(), count).products == products);
      CHECK(dot_sums(a.data(), b.data(), count).squares == squared_products);
      CHECK(weighted_sums(a.data(), weights.data(), count).products == products);
      CHECK(weighted_sums(a.data(), weights.data(), count).squares == squares);
      CHECK(weighted_products(a.data(), weights.data(), count).products == products);
      CHECK(weighted_products(a.data(), weights.data(), count).squares == squared_products);
      CHECK(weighted_sum(a.data(), weights.data(), count) == products);
    });
  }
}

TEST_CASE("the sums of pairs of vectors are those of each pair, bit for bit") {
  const InputGenerator inputs(7, "uniform");
  for (int64_t count : {0, 1, 15, 16, 17, 512, 513, 5001})
    for (int64_t vectors : {0, 1, 3, 4, 9})
      for (int64_t others : {1, 2, 7}) {
        CAPTURE(count);
        CAPTURE(vectors);
        CAPTURE(others);
        std::vector<float> a(size_t(vectors * count)), b(size_t(others * count));
        inputs.fill(DEEPBENCH_F32, 0, 0, 1, vectors * count, a.data());
        inputs.fill(DEEPBENCH_F16, 1, 0, 1, others * count, b.data());
        for_each_simd_level([&] {
          std::vector<DotSums> sums(size_t(vectors * others) + 1, DotSums{7, 7});
          dot_sums_of_pairs(a.data(), vectors, b.data(), others, count, sums.data());
          int wrong = 0;
          for (int64_t i = 0; i < vectors; ++i)
            for (int64_t j = 0; j < others; ++j) {
              const DotSums one = dot_sums(a.data() + i * count, b.data() + j * count, count);
              wrong += sums[size_t(i * others + j)].products != one.products;
              wrong += sums[size_t(i * others + j)].squares != one.squares;
            }
          CHECK(wrong == 0);
          CHECK(sums.back().products == 7);  // nothing is written beyond the end
        });
      }
}

TEST_CASE("sums are identical at every SIMD level") {
  std::vector<float> a(1003), b(1003);
  const InputGenerator inputs(5, "uniform");
  inputs.fill(DEEPBENCH_F32, 0, 0, 1, 1003, a.data());
  inputs.fill(DEEPBENCH_F32, 1, 0, 1, 1003, b.data());
  const std::vector<double> thirds(1003, 1.0 / 3), sevenths(1003, 1.0 / 7);
  std::vector<double> firsts;
  for_each_simd_level([&] {
    const DotSums dots = dot_sums(a.data(), b.data(), 1003);
    const DotSums weighted = weighted_sums(a.data(), thirds.data(), 1003);
    std::vector<double> all = {dots.products, dots.squares, weighted.products, weighted.squares};
    const GeneratedMatrix matrix = {inputs, DEEPBENCH_F32, 2, 1003, 37};
    for (bool transposed : {false, true}) {
      const MatrixSums sums =
          multiply_by_vector_with_squares(matrix, transposed, thirds, {sevenths});
      for (const auto& values :
           {sums.sums, sums.squares, sums.further[0].sums, sums.further[0].squares})
        all.insert(all.end(), values.begin(), values.end());
      CHECK(multiply_by_vector(matrix, transposed, thirds) == sums.sums);
    }
    if (firsts.empty()) firsts = all;
    CHECK(all == firsts);
  });
}

// A vector x, and for each output the sum of the products of a matrix with x and the sum of its
// squared elements.
struct PlainProduct {
  std::vector<double> x, sums, squares, squared_terms;
};

template <class Element>
PlainProduct plain_product(int64_t rows, int64_t columns, bool transposed, const Element& element) {
  const auto outputs = static_cast<size_t>(transposed ? columns : rows);
  const auto inner = static_cast<size_t>(transposed ? rows : columns);
  PlainProduct plain = {std::vector<double>(inner), std::vector<double>(outputs, 0),
                        std::vector<double>(outputs, 0), std::vector<double>(outputs, 0)};
  for (size_t i = 0; i < inner; ++i) plain.x[i] = double(i % 61) - 30;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      const double value = element(i, j);
      const auto to = static_cast<size_t>(transposed ? j : i);
      const double term = value * plain.x[static_cast<size_t>(transposed ? i : j)];
      plain.sums[to] += term;
      plain.squares[to] += value * value;
      plain.squared_terms[to] += term * term;
    }
  return plain;
}

TEST_CASE("the product of a generated matrix and a vector is the plain sum for every shape") {
  struct Shape {
    int64_t rows, columns;
  };
  const InputGenerator inputs(6, "uniform");
  for (const Shape& shape : {Shape{1, 1}, Shape{1, 70000}, Shape{70000, 1}, Shape{3, 5},
                             Shape{513, 300}, Shape{300, 513}, Shape{5, 20001}, Shape{20001, 7}}) {
    const GeneratedMatrix matrix = {inputs, DEEPBENCH_S8, 3, shape.rows, shape.columns};
    for (bool transposed : {false, true}) {
      const PlainProduct plain =
          plain_product(shape.rows, shape.columns, transposed, [&](int64_t i, int64_t j) {
            return deepbench_element(DEEPBENCH_S8, 6, 3, uint64_t(i + j * shape.rows));
          });
      CAPTURE(shape.rows);
      CAPTURE(shape.columns);
      CAPTURE(transposed);
      const MatrixSums got = multiply_by_vector_with_squares(matrix, transposed, plain.x);
      CHECK(got.sums == plain.sums);
      CHECK(got.squares == plain.squares);
      CHECK(multiply_by_vector(matrix, transposed, plain.x) == plain.sums);
      CHECK(got.further.empty());
      const std::vector<double> ones(plain.x.size(), 1);
      const MatrixSums with_further =
          multiply_by_vector_with_squares(matrix, transposed, ones, {ones, plain.x});
      CHECK(with_further.squares == plain.squares);
      CHECK(with_further.further[0].sums == with_further.sums);
      CHECK(with_further.further[0].squares == plain.squares);
      CHECK(with_further.further[1].sums == plain.sums);
      CHECK(with_further.further[1].squares == plain.squared_terms);
    }
  }
}

TEST_CASE("the product of a sparse generated matrix counts its nonzeros only") {
  constexpr uint64_t kSeed = 9;
  const InputGenerator inputs(kSeed, "uniform");
  const SparsityPattern pattern = {kSeed, 3, 0xc0000000u};
  const GeneratedMatrix matrix = {inputs, DEEPBENCH_S8, 0, 1030, 40, &pattern};
  for (bool transposed : {false, true}) {
    const std::vector<double> x(transposed ? 1030 : 40, 3.0);
    std::vector<double> sums(transposed ? 40 : 1030), squares(sums.size());
    double counted = 0;
    for (uint64_t row = 0; row < 1030; ++row)
      for (uint64_t column = 0; column < 40; ++column) {
        const uint64_t index = row + column * 1030;
        if (deepbench_bits(kSeed, 3, index) >> 32 < pattern.threshold) continue;
        const double value = deepbench_element(DEEPBENCH_S8, kSeed, 0, index);
        sums[transposed ? column : row] += 3 * value;
        squares[transposed ? column : row] += value * value;
        ++counted;
      }
    CHECK(counted == doctest::Approx(10300).epsilon(0.05));
    for_each_simd_level([&] {
      const MatrixSums got = multiply_by_vector_with_squares(matrix, transposed, x);
      CHECK(got.sums == sums);
      CHECK(got.squares == squares);
    });
  }
}

TEST_CASE("elements of a generated matrix count times the scales of their blocks") {
  const InputGenerator inputs(6, "uniform");
  InputGenerator::SmallIntegers integers;
  integers.fill({1u << 28, 7});
  const InputGenerator scales(8, integers);
  struct Shape {
    int64_t rows, columns, height, width;
  };
  for (const Shape& shape :
       {Shape{1, 1, 128, 128}, Shape{1300, 260, 128, 128}, Shape{1300, 260, 1, 128},
        Shape{260, 1300, 128, 1}, Shape{700, 3, 100, 2}, Shape{5, 70000, 3, 1000}}) {
    const int64_t down = 2, right = 3001;
    const GeneratedMatrix matrix = {inputs,
                                    DEEPBENCH_E4M3,
                                    3,
                                    shape.rows,
                                    shape.columns,
                                    nullptr,
                                    0,
                                    BlockScales{scales, 4, shape.height, shape.width, down, right}};
    CHECK(matrix.mean_square() == 7);  // a third, times 21
    for (bool transposed : {false, true}) {
      const PlainProduct plain =
          plain_product(shape.rows, shape.columns, transposed, [&](int64_t i, int64_t j) {
            const auto block = uint64_t(i / shape.height * down + j / shape.width * right);
            return deepbench_element(DEEPBENCH_E4M3, 6, 3, uint64_t(i + j * shape.rows)) *
                   deepbench_small_integer({1u << 28, 7}, 8, 4, block);
          });
      CAPTURE(shape.rows);
      CAPTURE(shape.height);
      CAPTURE(transposed);
      for_each_simd_level([&] {
        const MatrixSums got = multiply_by_vector_with_squares(matrix, transposed, plain.x);
        CHECK(got.sums == plain.sums);
        CHECK(got.squares == plain.squares);
      });
    }
  }
}

}  // namespace
}  // namespace deepbench
