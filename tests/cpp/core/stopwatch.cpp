// Host time: rests are as long as they were asked to be.
#include "deepbench/core/stopwatch.hpp"

#include <doctest/doctest.h>

namespace deepbench {
namespace {

TEST_CASE("stopwatch: a rest is no shorter than was asked for, and says how long it was") {
  for (const double ns : {0.0, 50e3, 300e3, 2e6}) {
    Stopwatch watch;
    const double rested_ns = sleep_for_ns(ns);
    const double passed_ns = watch.lap_ns();
    CHECK(rested_ns >= ns);
    CHECK(passed_ns >= rested_ns);
  }
}

}  // namespace
}  // namespace deepbench
