// The time of day as text.
#include "deepbench/core/utc_time.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

namespace deepbench {
namespace {

TEST_CASE("the time of day is that of the system, in UTC") {
  const std::time_t before = std::time(nullptr);
  const std::string text = utc_time_text();
  const std::time_t after = std::time(nullptr);
  REQUIRE(text.size() == 20);
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  REQUIRE(end != nullptr);
  CHECK(*end == '\0');
  const std::time_t read = timegm(&parts);
  CHECK(read >= before);
  CHECK(read <= after);
}

}  // namespace
}  // namespace deepbench
