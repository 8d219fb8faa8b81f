// Step 1 of a row: decides whether the backend can run the problem and whether memory suffices.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row_context.hpp"

namespace deepbench {

// The problem and the options of a requested row.
struct RowRequest {
  Problem problem;
  RunOptions options;
};

// The backend's plans of one problem: that of the library's first choice, and those of candidates
// and of the reference, which are made when they are first requested.
class DEEPBENCH_API CandidatePlans {
 public:
  explicit CandidatePlans(BackendPlan first) : first_(std::move(first)) {}

  const BackendPlan& first() const { return first_; }
  const BackendPlan& get(const std::string& id);  // "": the first. Throws RowFailure
  // The backend's reference for the request. Throws RowFailure.
  const BackendPlan& reference(const RowRequest& request, const Backend& backend);

 private:
  const BackendPlan first_;
  std::map<std::string, BackendPlan> candidates_;
  std::optional<BackendPlan> reference_;
};

// A problem bound to options and a candidate. Nothing is allocated; a plan may make many trials.
struct Plan {
  Problem problem;
  RunOptions options;
  std::string candidate;  // "": the library's default
  std::shared_ptr<CandidatePlans> backend_plans;

  Plan with_candidate(const std::string& id) const { return {problem, options, id, backend_plans}; }
  // Asks the backend for the candidate's plan, if no trial has done so. Throws RowFailure.
  const BackendPlan& backend_plan() const { return backend_plans->get(candidate); }
  // The plan of the backend's reference, which all candidates share. Throws RowFailure.
  const BackendPlan& reference_plan(const Backend& backend) const {
    return backend_plans->reference({problem, options}, backend);
  }
};

// The problem planned with the library's first choice. Throws RowFailure.
DEEPBENCH_API Plan plan_first_choice(const RowRequest& request, const Backend& backend);

// Throws RowFailure (kOutOfMemory) if the device or the host has less memory than these bytes.
DEEPBENCH_API void require_available_memory(double on_device, double on_host,
                                            const RowContext& context);

struct Refusal {
  Status status = Status::kUnsupported;
  std::string reason;
};

// Asks the backend without preparing anything. The plan has the candidate that the options name.
DEEPBENCH_API std::variant<Plan, Refusal> admit(const RowRequest& request,
                                                const RowContext& context);

}  // namespace deepbench
