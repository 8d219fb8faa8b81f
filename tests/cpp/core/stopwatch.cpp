// Tests that rests have the requested length.
#include "deepbench/core/stopwatch.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace deepbench {
namespace {

TEST_CASE("stopwatch: sleep_for_ns waits at least the requested time and returns the time waited") {
  for (const double ns : {0.0, 50e3, 300e3, 2e6}) {
    Stopwatch watch;
    const double waited_ns = sleep_for_ns(ns);
    const double passed_ns = watch.lap_ns();
    CHECK(waited_ns >= ns);
    CHECK(passed_ns >= waited_ns);
  }
}

}  // namespace
}  // namespace deepbench
