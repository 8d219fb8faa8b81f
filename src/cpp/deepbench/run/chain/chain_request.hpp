// The request for a chain: problems and the order of their calls.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"

namespace deepbench {

struct DEEPBENCH_API ChainRequest {
  std::vector<Problem> problems;
  std::vector<size_t> order;  // indices of problems, one for each call
  std::vector<size_t> calls;  // of each problem
  std::string options;        // key=value text that overrides the options of the rows
};

// Whether a line of the row protocol asks for a chain rather than for a row.
DEEPBENCH_API bool is_chain_line(std::string_view line);
// Reads "chain 0 1 0 power=sustained ; PROBLEM ; PROBLEM": the number of the problem of each call,
// from 0, and options, then the problems. Throws InvalidProblem, also for a problem that no call
// names.
DEEPBENCH_API ChainRequest parse_chain(std::string_view line);

}  // namespace deepbench
