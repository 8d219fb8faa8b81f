// Times as notes write them.
#include "deepbench/run/row/format_time.hpp"

#include <doctest/doctest.h>

namespace deepbench {

TEST_CASE("a time has four digits and the unit that suits") {
  CHECK(format_time(0.25, 0.25) == "0.2500 ns");
  CHECK(format_time(52, 52) == "52.00 ns");
  CHECK(format_time(394540, 394540) == "394.5 \u00b5s");
  CHECK(format_time(999960, 999960) == "1.000 ms");
  CHECK(format_time(98232400, 98232400) == "98.23 ms");
  CHECK(format_time(2.4534328e9, 2.4534328e9) == "2.453 s");
  CHECK(format_time(1.5e12, 1.5e12) == "1500 s");
}

TEST_CASE("a time is in the unit of that beside it, where that leaves digits") {
  CHECK(format_time(973862, 1.36e6) == "0.9739 ms");
  CHECK(format_time(1.2e6, 136000) == "1200 \u00b5s");
  CHECK(format_time(5000, 2.4e9) == "5.000 \u00b5s");
}

}  // namespace deepbench
