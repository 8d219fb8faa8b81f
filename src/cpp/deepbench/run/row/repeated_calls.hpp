// Determines whether calls of a collective repeat their bits: on every rank, and on all ranks alike
// where they must have the same results.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {

// The results of one rank's calls with the same operands.
struct RepeatedCalls {
  // The projections of all outputs after each call. Ranks may add them up in different orders, so
  // that only those of one rank are compared with each other.
  std::vector<double> projections;
  // A hash of some outputs after each call. The outputs are at the same places on all ranks.
  std::vector<std::string> samples;
  // The result of expected_on_rank(), which shows whether all ranks must have the same results.
  std::vector<double> expected;
};

// Some expected outputs of a rank, from several seeds, so that the numbers of two ranks are equal
// only if their results are.
DEEPBENCH_API std::vector<double> expected_on_rank(const Problem& problem,
                                                   const Attributes& kernel_facts, int rank);

// The metric `bitwise`: how many of all calls repeated the bits of the first one. Empty on ranks
// other than 0, and where there are no calls.
DEEPBENCH_API std::vector<Metric> bitwise_metric(Group& group, const RepeatedCalls& mine);

}  // namespace deepbench
