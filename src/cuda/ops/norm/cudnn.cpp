// Normalization through the engines of cuDNN's graph API.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/handle.hpp"
#include "implementation.hpp"
#include "ops/norm/cudnn_graph.hpp"
#include "ops/norm/kernels.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

// The operation of a normalization and the engines that compute it, which all plans of the problem
// share.
struct NormGraph {
  NormGraph(const Norm& norm, const Stream& stream)
      : operation(norm),
        engines(operation.descriptors(), "this normalization", cudnn_handle(stream)) {}

  const NormOperation operation;
  GraphEngines engines;
};

class NormGraphCall final : public GraphCall {
 public:
  NormGraphCall(std::shared_ptr<const NormGraph> graph, const GraphExecution& execution,
                NormOperands& operands, Stream& stream)
      : GraphCall(execution, stream),
        graph_(std::move(graph)),
        operands_(operands),
        stream_(stream),
        workspace_(execution.workspace_bytes()) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      add_copy(graph_->operation.make_variant_pack(pointers(copy), workspace_.data()));
    NormGraphCall::operands_refilled();
  }

  void operands_refilled() override { prepare_statistics(operands_, stream_); }

 private:
  std::vector<void*> pointers(uint64_t copy) const {
    std::vector<void*> all;
    for (int part = 0; part < kNormParts; ++part) all.push_back(operands_.at(NormPart(part), copy));
    return all;
  }

  const std::shared_ptr<const NormGraph> graph_;  // owns the execution
  NormOperands& operands_;
  Stream& stream_;
  const Buffer workspace_;
};

class CudnnNormPlan final : public plugin::Plan {
 public:
  CudnnNormPlan(const Norm& norm, const plugin::Options& options)
      : norm_(norm),
        options_(options),
        copies_(plan_copies(uint64_t(norm.traffic()), options)),
        graph_(make_graph(norm, options)) {}

  // Binds the plan to an engine, "" for the first that the library can build. A plan that is not
  // bound has that one, which it builds when it is described or prepared.
  void bind(const std::string& engine) { bound_ = &graph_->engines.build(engine); }

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = execution().workspace_bytes();
    describe_plan("cudnn " + report<nvidia::Cudnn>().version, execution().engine(),
                  NormOperands::needed_bytes(norm_, copies_, workspace), workspace, sink);
    sink.real("planning_ns", execution().planning_ns());
    sink.integer("outputs", int64_t(norm_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    return graph_->engines.names(bound_ ? bound_->engine() : "");
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    auto candidate = std::make_unique<CudnnNormPlan>(*this);
    candidate->bind(id);
    return candidate;
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<NormOperands>(norm_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory(stream));
    auto call = std::make_unique<NormGraphCall>(graph_, execution(), *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static std::shared_ptr<NormGraph> make_graph(const Norm& norm, const plugin::Options& options) {
    require_built_in_kernels("norm");
    require_precision_support(norm.precision, options.device);
    parse_inputs(options.inputs);
    return std::make_shared<NormGraph>(norm, Stream::of(options.device));
  }

  const GraphExecution& execution() const { return bound_ ? *bound_ : graph_->engines.build(""); }

  const Norm norm_;
  const plugin::Options options_;
  const plugin::CopyPlan copies_;
  const std::shared_ptr<NormGraph> graph_;
  const GraphExecution* bound_ = nullptr;  // nullptr: the first that the library can build
};

class CudnnNorm final : public Implementation {
 public:
  LibraryFacts library() override { return library_facts_of<nvidia::Cudnn>(); }

  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options& options) override {
    auto plan = std::make_unique<CudnnNormPlan>(norm_problem(problem), options);
    plan->bind("");
    return plan;
  }
  std::unique_ptr<plugin::Plan> plan_contender(const plugin::Problem& problem,
                                               const plugin::Options& options) override {
    return std::make_unique<CudnnNormPlan>(norm_problem(problem), options);
  }
};

}  // namespace

Implementation& cudnn_norm() {
  static auto* implementation = new CudnnNorm();
  return *implementation;
}

}  // namespace deepbench::cuda
