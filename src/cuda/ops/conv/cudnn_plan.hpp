// cuDNN's plan of a convolution: the layout, the engine, its requirements, and the other
// candidates.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "ops/conv/cudnn_execution.hpp"
#include "ops/conv/engine_plans.hpp"

namespace deepbench::cuda::dnn {

struct ConvPlan {
  ConvLayout layout;
  std::shared_ptr<const ExecutionPlan> execution;
  double planning_ns = 0;  // the heuristics query, if there was one, and the building of the plan

  uint64_t workspace_bytes() const { return execution->workspace_bytes(); }
  std::string algorithm_text() const;  // "nhwc: eng22_k2=18 (winograd)"
};

// The answer of the library's heuristics about the problem in one layout.
struct HeuristicsResult {
  std::shared_ptr<const OperationGraph> graph;
  // The results of the heuristics come first, then the additional ones of the fallback mode.
  std::vector<EngineConfig> configs;
  double query_ns = 0;
  std::string refusal;  // the reason why there is no graph
};

// The library's answers about one convolution on one device, which all its plans share: each layout
// is queried once, and each engine is built once.
class ConvQueries {
 public:
  ConvQueries(const Conv& conv, const std::string& layout, const plugin::Options& options);

  // Plans the candidate, or the library's first choice if it is "". Throws plugin::Error:
  // unsupported with the reason, or invalid for an unknown candidate.
  ConvPlan plan(const std::string& candidate);

  // The ids that plan() accepts: the library's default comes first, then the most promising; at
  // most `limit`. All of them can be built and fit the workspace limit, except that limit 0
  // (exhaustive) also lists larger ones.
  std::vector<std::string> candidates(int64_t limit);

 private:
  friend class CandidateList;

  const HeuristicsResult& heuristics(const ConvLayout& layout);
  PlanOrReason build_allowed(const ConvLayout& layout, const EngineConfig& config);
  PlanOrReason build_within_limit(const ConvLayout& layout, const EngineConfig& config);
  bool fits_workspace(const ExecutionPlan& plan) const;
  ConvPlan plan_default();
  ConvPlan plan_candidate(const std::string& id);

  const Conv conv_;
  const plugin::Options options_;
  const Stream& stream_;
  const std::vector<ConvLayout> layouts_;
  std::map<std::string, HeuristicsResult> heuristics_;  // by the layout's name
  EnginePlans plans_;
};

}  // namespace deepbench::cuda::dnn
