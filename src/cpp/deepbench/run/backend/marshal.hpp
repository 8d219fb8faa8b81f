// Converts named values at the plugin boundary, in both directions.
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

// Collects the values that a backend emits, within the limits of limits.hpp. Names with a control
// character, with invalid UTF-8 or of too many characters are refused; free texts are made
// printable and shortened. Ignores a value of an unknown kind and a NULL name or text, so that a
// faulty plugin does not crash a report. Stores the unit and direction of a metric as "NAME.unit".
class Collector {
 public:
  enum class Answer {
    kFacts,
    kVariables,   // variables of the environment, whose texts are neither changed nor shortened
    kCandidates,  // texts that are all called "candidate", and the real compiling_ns
  };
  explicit Collector(Answer answer = Answer::kFacts) : answer_(answer) {}

  deepbench_sink sink() { return {this, &Collector::receive}; }
  const Attributes& values() const { return values_; }
  const std::vector<std::string>& candidates() const { return candidates_; }
  // The reason why the answer is refused, such as "the device's name has a control character";
  // empty if it is accepted. Values that are emitted after the first fault are ignored.
  const std::string& fault() const { return fault_; }

 private:
  static void receive(void* context, const deepbench_value* value);
  void add(const deepbench_value& value);
  void add_candidate(const char* id);
  void add_text(const std::string& name, const char* text);
  void refuse(const std::string& what) { fault_ = what; }
  void set(const std::string& name, Value value);

  Answer answer_;
  Attributes values_;
  std::vector<std::string> candidates_;
  size_t count_ = 0, bytes_ = 0;  // totals of all emitted values
  std::string fault_;
};

}  // namespace deepbench
