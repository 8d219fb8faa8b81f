// Tests which numbers of a range a sample has.
#include "deepbench/core/stratified_sample.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

namespace deepbench {
namespace {

TEST_CASE("a sample has both ends and one number from each of equal parts between them") {
  for (const int64_t size : {2, 17, 1000, 1023})
    for (const int64_t count : {2, 3, 16, 512}) {
      CAPTURE(size);
      CAPTURE(count);
      const std::vector<int64_t> numbers = stratified_sample(size, count, 7, 1);
      REQUIRE(int64_t(numbers.size()) == std::min(size, count));
      CHECK(numbers.front() == 0);
      CHECK(numbers.back() == size - 1);
      for (size_t i = 1; i + 1 < numbers.size(); ++i) {
        const double part = double(size - 2) / double(numbers.size() - 2);
        CHECK(double(numbers[i]) > double(i - 1) * part);
        CHECK(double(numbers[i]) < double(i) * part + 1);
        CHECK(numbers[i] > numbers[i - 1]);
        CHECK(numbers[i] < numbers[i + 1]);
      }
    }
}

TEST_CASE("samples of different seeds reach every number, also where no equal parts are possible") {
  for (const int64_t count : {1, 9, 100}) {
    std::set<int64_t> reached;
    for (uint64_t seed = 0; seed < 4000; ++seed)
      for (const int64_t number : stratified_sample(199, count, seed, 1)) reached.insert(number);
    CHECK(reached.size() == 199);
  }
}

TEST_CASE("seed, stream and number of a sample make a difference") {
  const std::vector<int64_t> sample = stratified_sample(100000, 10, 1, 1);
  CHECK(sample == stratified_sample(100000, 10, 1, 1, 0));
  CHECK(sample != stratified_sample(100000, 10, 2, 1));
  CHECK(sample != stratified_sample(100000, 10, 1, 2));
  CHECK(sample != stratified_sample(100000, 10, 1, 1, 1));
}

TEST_CASE("the largest ranges have a sample") {
  constexpr int64_t kSize = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> numbers = stratified_sample(kSize, 1000, 3, 1);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  CHECK(numbers.back() == kSize - 1);
}

}  // namespace
}  // namespace deepbench
