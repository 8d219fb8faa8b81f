// Step 1 of a row: decides whether the backend can run the problem and whether memory suffices.
#pragma once

#include <string>
#include <variant>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row_context.hpp"

namespace deepbench {

// What a row is asked for.
struct RowRequest {
  Problem problem;
  RunOptions options;
};

// A problem bound to options and a candidate. Nothing is allocated; a plan may make many trials.
struct Plan {
  Problem problem;
  RunOptions options;
  std::string candidate;  // "": the library's default

  Plan with_candidate(const std::string& id) const { return {problem, options, id}; }
};

struct Refusal {
  Status status = Status::kUnsupported;
  std::string reason;
};

// Asks the backend without preparing anything. The plan has the candidate that the options name.
DEEPBENCH_API std::variant<Plan, Refusal> admit(const RowRequest& request,
                                                const RowContext& context);

}  // namespace deepbench
