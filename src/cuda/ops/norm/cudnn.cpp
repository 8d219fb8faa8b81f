// Normalization through the engines of cuDNN's graph API.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "implementation.hpp"
#include "ops/norm/cudnn_graph.hpp"
#include "ops/norm/kernels.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

// The operation of a normalization and an engine that computes it.
struct NormExecution {
  NormExecution(const Norm& norm, const std::string& engine, const Stream& stream)
      : operation(norm), graph(operation.descriptors(), "this normalization", engine, stream) {}

  const NormOperation operation;
  const GraphExecution graph;
};

using Execution = std::shared_ptr<const NormExecution>;

class NormCall final : public GraphCall {
 public:
  NormCall(const Execution& execution, NormOperands& operands, Stream& stream)
      : GraphCall(execution->graph, stream),
        execution_(execution),
        operands_(operands),
        stream_(stream),
        workspace_(execution->graph.workspace_bytes()) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      add_copy(execution->operation.make_variant_pack(pointers(copy), workspace_.data()));
    NormCall::operands_refilled();
  }

  void operands_refilled() override { prepare_statistics(operands_, stream_); }

 private:
  std::vector<void*> pointers(uint64_t copy) const {
    std::vector<void*> all;
    for (int part = 0; part < kNormParts; ++part) all.push_back(operands_.at(NormPart(part), copy));
    return all;
  }

  const Execution execution_;
  NormOperands& operands_;
  Stream& stream_;
  const Buffer workspace_;
};

class CudnnNormPlan final : public plugin::TypedPlan<CudnnNormPlan, Norm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static Norm parse(const plugin::Problem& problem) { return norm_problem(problem); }

  CudnnNormPlan(const Norm& norm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(norm, options), copies_(plan_copies(uint64_t(norm.traffic()), options)) {
    require_built_in_kernels("norm");
    require_precision_support(norm.precision, options.device);
    parse_inputs(options.inputs);
    const Stream& stream = Stream::of(options.device);
    cudnn_handle(stream);  // creates the handle outside the planning time
    const plugin::HostTimer timer;
    execution_ = std::make_shared<const NormExecution>(norm, candidate, stream);
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = execution_->graph.workspace_bytes();
    describe_plan("cudnn " + library().version, execution_->graph.engine(),
                  NormOperands::needed_bytes(problem_, copies_, workspace), workspace, sink);
    sink.real("planning_ns", planning_ns_);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    return execution_->graph.engines();
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<NormOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory(stream));
    auto call = std::make_unique<NormCall>(execution_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  const plugin::CopyPlan copies_;
  Execution execution_;
  double planning_ns_ = 0;
};

}  // namespace

Implementation& cudnn_norm() { return implementation_of_plan<CudnnNormPlan>(); }

}  // namespace deepbench::cuda
