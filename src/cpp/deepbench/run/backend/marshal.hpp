// Named values across the plugin boundary, in both directions.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/plugin.h"

namespace deepbench {

// A C view of attributes; valid while both this and the attributes live.
class ValuesView {
 public:
  explicit ValuesView(const Attributes& attributes);
  deepbench_values get() const { return {values_.data(), values_.size()}; }

 private:
  std::vector<deepbench_value> values_;
};

class ProblemView {
 public:
  explicit ProblemView(const Problem& problem);
  const deepbench_problem* get() const { return &problem_; }

 private:
  ValuesView values_;
  deepbench_problem problem_;
};

// Collects the values that a backend emits. Ignores a value of an unknown kind and a NULL name or
// text, so that a faulty plugin does not crash a report. Stores the unit and direction of a metric
// as "NAME.unit".
class Collector {
 public:
  deepbench_sink sink() { return {this, &Collector::receive}; }
  const Attributes& values() const { return values_; }
  // All texts in order, for names that repeat.
  const std::vector<std::string>& repeated() const { return repeated_; }

 private:
  static void receive(void* context, const deepbench_value* value);
  Attributes values_;
  std::vector<std::string> repeated_;
};

}  // namespace deepbench
