// An operation as the core sees it: its parameters, the validity and the useful work of a problem,
// and the expected output. Each operation has one class, in ops/<op>/spec.cpp.
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
  std::string default_text{};          // empty: the parameter is required
  std::vector<std::string> choices{};  // for kChoice
  // Inclusive bounds of integers and reals.
  double minimum = 1, maximum = 9.2e18;
  // The parameter exists only where the parameter `condition_name` has the value `condition_value`,
  // for example "precision" and "int8".
  std::string condition_name{}, condition_value{};
  // A parameter at its default value is neither stored in the problem nor printed.
  bool omitted_at_default = false;
  // Other spellings of choices, in lower case, each with the choice it stands for: {"fp16",
  // "half"}.
  std::vector<std::pair<std::string, std::string>> aliases{};
  // Names that other programs give the parameter, for suggestions.
  std::vector<std::string> synonyms{};
  std::string title{};  // title of its column in tables; empty: the name

  // Copies with other synonyms, and with another title.
  Parameter with_synonyms(std::vector<std::string> words) const {
    Parameter copy = *this;
    copy.synonyms = std::move(words);
    return copy;
  }
  Parameter with_title(std::string text) const {
    Parameter copy = *this;
    copy.title = std::move(text);
    return copy;
  }

  // Whether the value lies between 0 and 1, so that users may write it as a percentage.
  bool is_fraction() const { return kind == ParameterKind::kReal && minimum >= 0 && maximum <= 1; }
};

// Useful work: the floating-point (or integer) operations, and the bytes that move if every operand
// is accessed exactly once.
struct Work {
  double flops = 0;
  double bytes = 0;
  // The largest number of these operations that one operation of the algorithm replaces: more than
  // 1 where a transform, such as Winograd's, saves multiplications.
  double transform_factor = 1;
  // The steps of the call that follow one another because each needs the result of the previous
  // one, and the bytes that a step passes to the next one. 0: there are none. Each step also reads
  // `step_weights` bytes that remain the same.
  double steps = 0;
  double step_bytes = 0, step_weights = 0;
  // The precision of the algorithm's arithmetic if it differs from the problem's; otherwise "".
  std::string arithmetic{};
};

// A figure that only some operations report.
struct Metric {
  std::string name, unit, better;  // `better` is "lower", "higher" or empty
  double value = 0;
  std::vector<double> samples_ns{};  // samples of a time that the core measured; otherwise empty
};

// A problem with which a row is compared: the core measures it after the row, and the row shows its
// time and the ratio of both times.
struct Baseline {
  std::string name;       // in notes: "dense baseline"
  std::string metric;     // of the baseline's time in microseconds: "dense_time"
  std::string speedup;    // of the baseline's time over the row's: "speedup"
  std::string problem;    // "gemm m=64 n=64 k=64 precision=float"
  bool optional = false;  // left out without a note where the backend does not support the problem
  // If the baseline is more than this many times as fast as the row, a note says so: the row's
  // kernel is inefficient. 0: there is no limit.
  double most_speed = 0;
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
  // Words of other programs, each with the words that a suggestion offers instead: {"lstm", "rnn
  // cell=lstm"}.
  virtual std::vector<std::pair<std::string, std::string>> synonyms() const { return {}; }
  // The problem lines for which the operation's name alone stands on a device with these facts
  // (plugin.h, describe_device); empty for an operation that has suites.
  virtual std::vector<std::string> default_problems(const Attributes& device) const;
  // Describes default_problems() in help texts: "each kind of access at sizes for each level".
  virtual std::string default_problems_help() const { return ""; }
  // The attribute ("phase") over which a report merges rows into one; empty if there is none.
  virtual std::string group_by() const { return ""; }
  // Operands that can be constant in an application, so that a library may convert them ahead of
  // time; `constant=a` names one of them.
  virtual std::vector<std::string> constant_operands() const { return {}; }

  // Whether an operand belongs to the call's place in a model, such as weights, a table or the keys
  // of earlier tokens. Other operands are what the calls before it have just written.
  virtual bool has_stored_operands(const Problem&) const { return false; }

  // Checks conditions that involve several parameters; throws InvalidProblem.
  virtual void validate(const Problem& problem) const = 0;
  virtual Work work(const Problem& problem) const = 0;
  // Whether several ranks make each call together.
  virtual bool is_collective() const { return false; }
  // Whether the ceilings of one device limit a call. They do not limit transfers between ranks or
  // between device and host, which no problem of one device measures.
  virtual bool is_limited_by_device(const Problem&) const { return !is_collective(); }
  // Figures derived from the time of a call and the facts of describe_kernel.
  virtual std::vector<Metric> derived_metrics(const Problem& problem, const Attributes& facts,
                                              double median_ns) const;
  // The problems with which a row is compared.
  virtual std::vector<Baseline> baselines(const Problem& problem) const;

  // The names of the outputs, whose positions are their numbers in plugin.h.
  virtual std::vector<std::string> outputs(const Problem&) const { return {"output"}; }
  // Whether expected_output() is implemented.
  virtual bool has_reference() const { return false; }
  // The data that expected_output() needs for this problem in addition to the inputs.
  virtual ReferenceSource reference_source(const Problem& problem) const;
  // The expected output whose number is in the conditions.
  virtual ExpectedOutput expected_output(const Problem& problem,
                                         const KernelConditions& conditions) const;
  // Whether a kernel of this problem may state this condition, which determines its output: "beta",
  // "accumulator" or "fill.OPERAND" with a value other than the default.
  virtual bool permits_condition(const Problem&, std::string_view, const Value&) const {
    return false;
  }
  // Whether rounding bounds are too wide for this problem, so that it is verified a second time
  // with small integers ("integers" of plugin.h's refill()), whose sums are exact.
  virtual bool needs_exact_sums(const Problem&) const { return false; }
  // The number of elements that the host generates one by one before a call and again to verify it;
  // 0 where it is small.
  virtual double host_generated_elements(const Problem& problem) const;
  // Bytes of host memory that expected_output() and the comparison take; 0 where the amount is
  // small and independent of the problem's size.
  virtual double verification_bytes(const Problem& problem) const;

  // The parameter called `name`; nullptr if there is none.
  const Parameter* find(std::string_view name) const;
};

// All operations in the order of listings; defined in ops/all_ops.cpp.
DEEPBENCH_API const std::vector<const Operation*>& operations();

// The operation called `name`; throws an InvalidProblem that lists the existing names.
DEEPBENCH_API const Operation& find_operation(std::string_view name);

// The parameter `precision` with all precision names and aliases; parsing stores the canonical
// name.
DEEPBENCH_API Parameter precision_parameter(const std::string& default_text);
// The same parameter, limited to these names, for an operation that has no use for the others.
DEEPBENCH_API Parameter precision_parameter(const std::string& default_text,
                                            const std::vector<std::string>& names);

// Replaces ASCII capitals; other bytes stay as they are.
DEEPBENCH_API std::string to_lower_case(std::string_view text);

// The element of `words` closest to a misspelled word, as " (did you mean 'x'?)"; empty if none is
// close.
DEEPBENCH_API std::string suggestion(std::string_view word, const std::vector<std::string>& words);

// The product of the factors; throws InvalidProblem if it does not fit into 63 bits.
DEEPBENCH_API int64_t checked_product(std::string_view what,
                                      std::initializer_list<int64_t> factors);

}  // namespace deepbench
