// Whether calls of a collective repeat their bits: on every rank, and on all ranks alike where they
// must have the same results.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {

// What one rank knows of calls with the same operands.
struct RepeatedCalls {
  // Of all outputs after each call. Ranks may add them up in orders of their own, so that only
  // those of one rank are compared.
  std::vector<double> projections;
  // A hash of some outputs after each call, which are the same places on all ranks.
  std::vector<std::string> samples;
  // expected_on_rank(), which tells whether all ranks must have the same results.
  std::vector<double> expected;
};

// Some outputs of a rank that derive from several seeds, so that other ranks have the same numbers
// only if their results are the same.
DEEPBENCH_API std::vector<double> expected_on_rank(const Problem& problem,
                                                   const Attributes& kernel_facts, int rank);

// How many of all calls gave the first one's bits: bitwise. Empty on ranks other than 0, and where
// there are no calls.
DEEPBENCH_API std::vector<Metric> bitwise_metric(Group& group, const RepeatedCalls& mine);

}  // namespace deepbench
