// Tests reading and setting of the affinity mask.
#include "deepbench/core/affinity.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace deepbench {
namespace {

#if defined(__linux__)
TEST_CASE("a thread that is restricted to a processor runs on no other") {
  const std::vector<int> all = read_affinity();
  REQUIRE_FALSE(all.empty());
  std::vector<int> restricted, unchanged, restored;
  std::thread([&] {
    set_affinity({all.back()});
    restricted = read_affinity();
    set_affinity({});
    unchanged = read_affinity();
    set_affinity(all);
    restored = read_affinity();
  }).join();
  CHECK(restricted == std::vector<int>{all.back()});
  CHECK(unchanged == restricted);
  CHECK(restored == all);
  CHECK(read_affinity() == all);
}
#endif

}  // namespace
}  // namespace deepbench
