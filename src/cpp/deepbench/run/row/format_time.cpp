// Choosing the unit of a time.
#include "deepbench/run/row/format_time.hpp"

#include <cstdio>

namespace deepbench {
namespace {

constexpr struct Unit {
  const char* name;
  double ns;
} kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"\u00b5s", 1e3}, {"ns", 1}};

// The largest unit in which the time, rounded to four digits, is at least 1.
const Unit& unit_of(double ns) {
  for (const Unit& unit : kUnits)
    if (ns >= 0.99995 * unit.ns) return unit;
  return kUnits[3];
}

int decimals_of(double value) {
  int decimals = 4;
  for (double limit = 0.99995; decimals > 0 && value >= limit; limit *= 10) --decimals;
  return decimals;
}

}  // namespace

std::string format_time(double ns, double like_ns) {
  const Unit* unit = &unit_of(like_ns);
  if (ns < 0.01 * unit->ns || ns >= 1e5 * unit->ns) unit = &unit_of(ns);
  const double value = ns / unit->ns;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", decimals_of(value), value, unit->name);
  return text;
}

}  // namespace deepbench
