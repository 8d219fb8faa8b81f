// Named values as they cross the plugin interface, from text and to text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/plugin.h"

namespace deepbench::testing {

// From "m=3 trans_a=n"; what reads as an integer, or a real number, is one.
class NamedValues {
 public:
  explicit NamedValues(const std::string& pairs);
  deepbench_values get() const { return {values_.data(), values_.size()}; }

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<deepbench_value> values_;
};

// What a slot emitted, as text; repeated names are kept in `order`.
struct Emitted {
  std::map<std::string, std::string> values;
  std::vector<std::pair<std::string, std::string>> order;

  bool has(const std::string& name) const { return values.count(name) != 0; }
  std::string text(const std::string& name) const { return has(name) ? values.at(name) : ""; }
  double number(const std::string& name) const { return std::stod(values.at(name)); }
  deepbench_sink sink();
};

}  // namespace deepbench::testing
