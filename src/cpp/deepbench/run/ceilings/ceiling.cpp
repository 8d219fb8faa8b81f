// The text forms of a ceiling.
#include "deepbench/run/ceilings/ceiling.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

constexpr std::string_view kCeiling = "ceiling ";

[[noreturn]] void refuse(std::string_view line, const std::string& reason) {
  throw InvalidProblem("'" + one_line(line, 200) + "': " + reason);
}

// The key in `text`, without white space around it.
std::string checked_key(std::string_view line, std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::string_view key = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  const std::string_view kind = key.substr(0, key.find(' '));
  if (kind != "arithmetic" && kind != "bandwidth" && kind != "latency" && kind != "serial")
    refuse(line, "a ceiling is arithmetic, bandwidth, latency or serial");
  parse_key_values(key.substr(kind.size()));
  return std::string(key);
}

}  // namespace

std::string CeilingKey::text() const {
  std::string text = kind;
  if (!precision.empty()) text += " precision=" + quoted(precision);
  if (!level.empty()) text += " level=" + quoted(level);
  if (bytes > 0) text += " bytes=" + std::to_string(bytes);
  if (weights > 0) text += " weights=" + std::to_string(weights);
  return text + " device=" + std::to_string(conditions.device) +
         " threads=" + std::to_string(conditions.threads) +
         " cores=" + std::to_string(conditions.cores) + " cache=" + conditions.cache +
         " power=" + conditions.power;
}

bool is_ceiling_line(std::string_view line) { return line.substr(0, kCeiling.size()) == kCeiling; }

void parse_given_ceiling(std::string_view line, GivenCeilings& ceilings) {
  const size_t end = line.find(';');
  if (!is_ceiling_line(line) || end == std::string_view::npos)
    refuse(line, "must be ceiling KEY ; figure=NUMBER raised=NUMBER");
  const std::string key = checked_key(line, line.substr(kCeiling.size(), end - kCeiling.size()));
  GivenCeiling given;
  for (const auto& [name, value] : parse_key_values(line.substr(end + 1))) {
    if (name != "figure" && name != "raised")
      refuse(line, "after ';' stand figure=NUMBER and raised=NUMBER, not " + name + "=" + value);
    const double figure = parse_real(name, value);
    if (!std::isfinite(figure) || figure < 0) refuse(line, name + " must be 0 or more");
    if (name == "figure")
      given.figure = figure;
    else
      given.raised = figure;
  }
  if (!given.figure && given.raised == 0) refuse(line, "needs a figure");
  ceilings[key] = given;
}

}  // namespace deepbench
