// Plans of one operation in one library. Header-only, for backends: a library writes one class of
// plans, and implementation_of_plan() makes the route's implementation of it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "deepbench/backend/implementation.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// A plan that keeps its problem, parsed, and its options. `Derived` is constructed from both and
// the id of a candidate, "" for the library's first choice.
template <class Derived, class ParsedProblem>
class TypedPlan : public Plan {
 public:
  std::unique_ptr<Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<Derived>(problem_, options_, id);
  }

 protected:
  TypedPlan(ParsedProblem problem, Options options)
      : problem_(std::move(problem)), options_(std::move(options)) {}

  const ParsedProblem problem_;
  const Options options_;
};

// The implementation whose plans are of `PlanClass`, a TypedPlan. It has static functions
// library(), the facts of the library, and parse(), which returns the parsed problem.
template <class PlanClass>
class PlannedImplementation final : public Implementation {
 public:
  LibraryFacts library() override { return PlanClass::library(); }
  std::unique_ptr<Plan> plan(const Problem& problem, const Options& options) override {
    return std::make_unique<PlanClass>(PlanClass::parse(problem), options, "");
  }
};

// The implementation, which is created on first use and lives until the process ends.
template <class PlanClass>
Implementation& implementation_of_plan() {
  static auto* implementation = new PlannedImplementation<PlanClass>();
  return *implementation;
}

// Emits the facts that every plan has.
inline void describe_plan(const std::string& library, const std::string& algorithm,
                          uint64_t memory_bytes, uint64_t workspace_bytes, Sink& sink) {
  sink.text("library", library);
  sink.text("algorithm", algorithm);
  sink.integer("memory_bytes", int64_t(memory_bytes));
  sink.integer("workspace_bytes", int64_t(workspace_bytes));
}

}  // namespace deepbench::plugin
