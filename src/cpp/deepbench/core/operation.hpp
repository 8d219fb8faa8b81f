// What the core knows of an operation: its parameters, what makes a problem valid, the useful work
// in it, and what its output must be. One class per operation, in ops/<op>/spec.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"

namespace deepbench {

enum class ParameterKind { kInteger, kReal, kChoice };

struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kInteger;
  std::string help;
  std::string default_text{};          // default as text; empty: the parameter is required
  std::vector<std::string> choices{};  // kChoice
  // Inclusive bounds of integers and reals.
  double minimum = 1, maximum = 9.2e18;
  // The parameter exists only where another one has this value: {"precision", "int8"}.
  std::string condition_name{}, condition_value{};
  // At its default it is no part of the problem: absent, and not printed.
  bool omitted_at_default = false;
  // Other spellings of a choice, in lower case, each with the choice: {"fp16", "half"}.
  std::vector<std::pair<std::string, std::string>> aliases{};

  // Whether it is a part of a whole, which people also write as a percentage.
  bool is_fraction() const { return kind == ParameterKind::kReal && minimum >= 0 && maximum <= 1; }
};

// Useful work: floating-point (or integer) operations, and the bytes that must move if every
// operand is touched once.
struct Work {
  double flops = 0;
  double bytes = 0;
};

// A figure that only some operations have.
struct Metric {
  std::string name, unit, better;  // better: "lower", "higher", or neither
  double value = 0;
};

class DEEPBENCH_API Operation {
 public:
  virtual ~Operation() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& help() const = 0;
  virtual const std::string& example() const = 0;
  virtual const std::vector<Parameter>& parameters() const = 0;
  // Other names that the command line accepts for the operation: "allreduce".
  virtual std::vector<std::string> aliases() const { return {}; }
  // Words of other programs, each with the words that a suggestion gives instead: {"lstm", "rnn
  // cell=lstm"}.
  virtual std::vector<std::pair<std::string, std::string>> synonyms() const { return {}; }
  // The problems that the operation's name alone stands for where no suite has any, for a device
  // that tells such facts of itself (plugin.h, describe_device).
  virtual std::vector<std::string> default_problems(const Attributes& device) const;
  // The attribute whose rows a report folds into one ("phase"), or nothing.
  virtual std::string group_by() const { return ""; }
  // The operands that may be constant in an application and that libraries then store otherwise
  // beforehand: what constant=a may name.
  virtual std::vector<std::string> constant_operands() const { return {}; }

  // Checks that go beyond one parameter's range; throws InvalidProblem.
  virtual void validate(const Problem& problem) const = 0;
  virtual Work work(const Problem& problem) const = 0;
  // Whether a call is one of several ranks together.
  virtual bool is_collective() const { return false; }
  // Whether the device's own ceilings limit a call. What lies between ranks, or between device and
  // host, no problem of one device shows.
  virtual bool is_limited_by_device(const Problem&) const { return !is_collective(); }
  // What follows from the time of a call and the facts that the kernel told of itself.
  virtual std::vector<Metric> derived_metrics(const Problem& problem, const Attributes& facts,
                                              double median_ns) const;

  // What a correct output looks like. Operations that no backend can run yet have none.
  virtual bool has_reference() const { return false; }
  // What expected_output() needs beside the inputs for this problem.
  virtual ReferenceSource reference_source(const Problem& problem) const;
  virtual ExpectedOutput expected_output(const Problem& problem,
                                         const KernelConditions& conditions) const;
  // Elements that the host generates one after the other before a call and again to verify it; 0:
  // few.
  virtual double host_elements(const Problem& problem) const;
  // Host memory that expected_output() and the comparison take, where it grows with the problem; 0:
  // little.
  virtual double verification_bytes(const Problem& problem) const;

  // The parameter called `name`, or nullptr.
  const Parameter* find(std::string_view name) const;
};

// All operations, in the order that lists show them; defined in ops/all_ops.cpp.
DEEPBENCH_API const std::vector<const Operation*>& operations();

// The operation called `name`; throws InvalidProblem naming those that exist.
DEEPBENCH_API const Operation& find_operation(std::string_view name);

// Precision names and aliases as a parameter's choices; parse stores the canonical name.
DEEPBENCH_API Parameter precision_parameter(const std::string& default_text);

// The text with ASCII capitals replaced.
DEEPBENCH_API std::string to_lower_case(std::string_view text);

// The word of `words` that is closest to a misspelt one, as " (did you mean 'x'?)"; or nothing.
DEEPBENCH_API std::string suggestion(std::string_view word, const std::vector<std::string>& words);

// Throws InvalidProblem if the product of the factors does not fit 63 bits.
DEEPBENCH_API int64_t checked_product(std::string_view what,
                                      std::initializer_list<int64_t> factors);

}  // namespace deepbench
