// Converts named values of the plugin interface from text and to text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/plugin.h"

namespace deepbench::testing {

// Parses "m=3 trans_a=n"; a value that is an integer or a real number has that type.
class NamedValues {
 public:
  explicit NamedValues(const std::string& pairs);
  deepbench_values get() const { return {values_.data(), values_.size()}; }
  std::string text(const std::string& name) const {  // "" where there is none
    for (const auto& [known, text] : texts_)
      if (known == name) return text;
    return "";
  }
  int64_t integer(const std::string& name) const {
    const std::string found = text(name);
    return found.empty() ? 0 : std::stoll(found);
  }

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<deepbench_value> values_;
};

// The values that a slot emitted, as text; `order` holds repeated names.
struct Emitted {
  std::map<std::string, std::string> values;
  std::vector<std::pair<std::string, std::string>> order;

  bool has(const std::string& name) const { return values.count(name) != 0; }
  std::string text(const std::string& name) const { return has(name) ? values.at(name) : ""; }
  double number(const std::string& name) const { return std::stod(values.at(name)); }
  deepbench_sink sink();
};

}  // namespace deepbench::testing
