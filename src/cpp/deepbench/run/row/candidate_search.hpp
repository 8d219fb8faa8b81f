// algorithm=best and exhaustive: screens a library's candidates, then times the fastest of them
// against the library's default in an interleaved comparison.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/tried_candidate.hpp"

namespace deepbench {

// A candidate that is faster than the library's default by more than noise.
struct Improvement {
  std::string id;
  double gain =
      1;  // the default's time divided by the candidate's, from the interleaved comparison
};

struct CandidateSearch {
  std::vector<Improvement> improvements;  // the fastest first
  std::string default_id;                 // the id of the library's default; "": unknown
  std::vector<TriedCandidate> tried;  // in the order of trial; the first is the library's default
  int64_t listed = 0;                 // candidates that the search set out to try
  double spent_ns = 0;                // host time that counts against the budget
  std::vector<std::string> notes;     // the candidates that could not be tried, and why
};

// `budget_ns` limits the host time of the search (0: no limit), listing and planning the candidates
// included; compilation that the disk cache keeps does not count. Screening may take half of it, of
// which a list that takes long to make leaves it half; the interleaved comparison makes at least
// three rounds. The candidate that the options name as the first comes directly after the default,
// if it is one of those that are tried. Skips the candidates in `incorrect`, whose results failed
// verification.
DEEPBENCH_API CandidateSearch search_candidates(const RowContext& context, const Plan& plan,
                                                double span_ns, double budget_ns,
                                                const std::vector<std::string>& incorrect,
                                                Stages& stages);

// The time of a call in its application, which includes a conversion that is repeated for every
// call.
double cost_with_conversion_ns(double call_ns, const Attributes& facts, const RunOptions& options);

}  // namespace deepbench
