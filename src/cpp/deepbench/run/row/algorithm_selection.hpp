// algorithm=best and exhaustive: tries a library's candidates beside its own first choice.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {

// A candidate that beats the library's default by more than noise.
struct Improvement {
  std::string id;
  double gain = 1;  // the default's time over its own, measured in turns
};

struct AlgorithmSelection {
  std::vector<Improvement> improvements;  // the fastest first
  std::string default_id;                 // the id of the library's default; "": not known
  int64_t tried = 0;
  std::vector<std::string> notes;  // candidates that could not be tried, and why
};

// `budget_ns` is the host time that trying may take, without compiling what is kept (0: no limit):
// half of it for first looks; the final has three rounds whatever they take.
// `incorrect` are candidates whose results were seen to be wrong: they are not tried.
DEEPBENCH_API AlgorithmSelection select_algorithm(const Backend& backend, const Problem& problem,
                                                  const RunOptions& options, double span_ns,
                                                  double budget_ns,
                                                  const std::vector<std::string>& incorrect,
                                                  Stages& stages);

// What a call of this trial costs in use: its time, and that of a conversion which its application
// cannot make beforehand.
double cost_with_conversion_ns(double call_ns, const Attributes& facts, const RunOptions& options);

}  // namespace deepbench
