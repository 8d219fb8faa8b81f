// Tests when a device rests between batches, and for how long.
#include "deepbench/measure/rest_policy.hpp"

#include <doctest/doctest.h>

namespace deepbench {
namespace {

Batch batch_of(double elapsed_ns, double clock_mhz, bool power_capped = false) {
  Batch batch;
  batch.count = 1;
  batch.elapsed_ns = elapsed_ns;
  batch.clock_mhz = clock_mhz;
  batch.power_capped = power_capped;
  return batch;
}

double rest_after(const Batch& batch, double max_clock_mhz = 2000) {
  RestPolicy rest(max_clock_mhz);
  rest.add(batch);
  return rest.next_rest_ns();
}

TEST_CASE("rest: a device rests where its clock is lowered") {
  CHECK(rest_after(batch_of(600e3, 1990)) == 0);
  CHECK(rest_after(batch_of(600e3, 1900)) == 500e3);
  CHECK(rest_after(batch_of(600e3, 1990, /*power_capped=*/true)) == 500e3);
}

TEST_CASE("rest: a rest is half as long as the batch, within bounds") {
  CHECK(rest_after(batch_of(3e6, 1500)) == 1.5e6);
  CHECK(rest_after(batch_of(1e9, 1500)) == 25e6);
}

TEST_CASE("rest: a device without a reliable clock does not rest") {
  CHECK(rest_after(batch_of(600e3, 0)) == 0);
  CHECK(rest_after(batch_of(50e3, 1000)) == 0);
  CHECK(rest_after(batch_of(600e3, 1000, true), 0) == 0);
}

TEST_CASE("rest: once lowered, it rests until the row ends") {
  RestPolicy rest(2000);
  rest.add(batch_of(600e3, 1500));
  rest.add(batch_of(2e6, 2000));
  CHECK(rest.next_rest_ns() == 1e6);
  rest.add(batch_of(50e3, 2000));
  CHECK(rest.next_rest_ns() == 1e6);
}

}  // namespace
}  // namespace deepbench
