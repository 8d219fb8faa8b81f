// The system's clock as text.
#include "deepbench/core/utc_time.hpp"

#include <ctime>

namespace deepbench {

std::string utc_time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-01-31T12:00:00Z"];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace deepbench
