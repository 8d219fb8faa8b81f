// Products with a packed factor against plain loops: whole and partial blocks of rows, of depth and
// of columns.
#include "ops/rnn/packed_matrix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace deepbench::cpu_test {
namespace {

std::vector<float> small_eighths(int64_t count, int step) {
  std::vector<float> made(static_cast<size_t>(count));
  for (size_t i = 0; i < made.size(); ++i) made[i] = float(int(i * size_t(step) % 17) - 8) / 8;
  return made;
}

// The values are small multiples of 1/8, so that sums are exact in every order.
void check_product(int64_t m, int64_t k, int64_t n, bool adds) {
  const std::vector<float> a = small_eighths(m * k, 5), b = small_eighths(k * n, 7),
                           before = small_eighths(m * n, 3);
  std::vector<float> c = before;
  const cpu::PackedMatrix packed(b.data(), k, n, n, 1);
  for (size_t worker = 0; worker < 3; ++worker)
    packed.multiply(m, a.data(), k, c.data(), n, adds, worker, 3);
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      float sum = adds ? before[size_t(row * n + column)] : 0;
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(row * k + l)] * b[size_t(l * n + column)];
      wrong += c[size_t(row * n + column)] != sum;
    }
  INFO(m, " rows, ", n, " columns, depth ", k, adds ? ", added" : "");
  CHECK(wrong == 0);
}

TEST_CASE("packed factor: every block, part and panel") {
  for (const int64_t m : {0, 1, 3, 4, 7, 8, 11, 12, 16})
    for (const int64_t k : {1, 127, 128, 129, 300})
      for (const int64_t n : {1, 23, 24, 47, 48, 49, 150})
        for (const bool adds : {false, true}) check_product(m, k, n, adds);
}

}  // namespace
}  // namespace deepbench::cpu_test
