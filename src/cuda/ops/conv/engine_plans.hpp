// The plans of the engines for one problem. Each is built once, and several can be built in
// advance.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/conv/cudnn_execution.hpp"

namespace deepbench::cuda::dnn {

// A plan, or the reason why there is none.
struct PlanOrReason {
  std::shared_ptr<const ExecutionPlan> plan;
  std::string reason;
};

class EnginePlans {
 public:
  explicit EnginePlans(const Stream& stream) : stream_(stream) {}

  // `graph` must describe `layout`. Throws plugin::Error for failures that the engine does not
  // cause.
  const PlanOrReason& get(const ConvLayout& layout,
                          const std::shared_ptr<const OperationGraph>& graph, const Engine& engine);

  // Builds the plans that are missing, several at once, because engines that compile at run time
  // take tenths of a second each. If a build fails, get() repeats it and reports the reason.
  void prebuild(const ConvLayout& layout, const std::vector<Engine>& engines);

 private:
  using Key = std::pair<std::string, std::string>;  // the layout's name and the engine's text
  static Key key_of(const ConvLayout& layout, const Engine& engine) {
    return {layout.name, engine.text()};
  }

  const Stream& stream_;
  std::map<Key, PlanOrReason> plans_;
};

}  // namespace deepbench::cuda::dnn
