// The clock rate between two stamps of every multiprocessor, computed without a device.
#include "clock_stamps.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace deepbench::cuda_test {
namespace {

using cuda::ClockStamp;
using cuda::median_mhz;
using Stamps = std::vector<ClockStamp>;

double mhz(const Stamps& before, const Stamps& after) {
  return median_mhz(before.data(), after.data(), before.size());
}

// The counters of multiprocessors start at different values; one microsecond has 1,980 cycles.
ClockStamp stamp(uint32_t multiprocessor, uint64_t microseconds, uint64_t cycles_of_one = 1980) {
  return {multiprocessor * 1000000007ull + microseconds * cycles_of_one, 5000 + microseconds * 1000,
          multiprocessor, 0};
}

TEST_CASE("clock stamps: only stamps of the same multiprocessor are subtracted") {
  CHECK(mhz({stamp(0, 0), stamp(7, 0), stamp(143, 0)},
            {stamp(143, 500), stamp(0, 500), stamp(7, 500)}) == doctest::Approx(1980));
  // A multiprocessor that stamped twice at first and one that never did do not affect the others.
  CHECK(mhz({stamp(0, 0), stamp(0, 1), stamp(2, 0)},
            {stamp(0, 500), stamp(1, 500), stamp(2, 500)}) == doctest::Approx(1980));
}

TEST_CASE("clock stamps: the result is the median over the multiprocessors") {
  CHECK(mhz({stamp(0, 0), stamp(1, 0), stamp(2, 0)},
            {stamp(0, 500, 1000), stamp(1, 500, 1700), stamp(2, 500, 1980)}) ==
        doctest::Approx(1700));
}

TEST_CASE("clock stamps: an unknown clock rate is 0") {
  CHECK(mhz({}, {}) == 0);
  CHECK(mhz({stamp(0, 0)}, {stamp(1, 500)}) == 0);
  CHECK(mhz({stamp(0, 0)}, {stamp(0, 40)}) == 0);             // too short
  CHECK(mhz({stamp(0, 500)}, {stamp(0, 0)}) == 0);            // in reverse order
  CHECK(mhz({stamp(5000, 0)}, {stamp(5000, 500)}) == 0);      // an invalid multiprocessor number
  CHECK(mhz({stamp(0, 0), {}}, {stamp(0, 500), {}}) > 1900);  // memory that no block wrote
}

}  // namespace
}  // namespace deepbench::cuda_test
