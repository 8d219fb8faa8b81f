// Attention through cuDNN's fused engines, which keep the scores in registers.
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "implementation.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "ops/attention/cudnn_limits.hpp"
#include "ops/attention/operands.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

class FusedCall final : public LibraryCall {
 public:
  FusedCall(std::shared_ptr<const AttentionExecution> execution, const AttentionOperands& operands,
            uint64_t statistics_bytes, Stream& stream)
      : execution_(std::move(execution)),
        workspace_(execution_->workspace_bytes()),
        statistics_(statistics_bytes),
        handle_(cudnn_handle(stream)) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      packs_.push_back(execution_->make_variant_pack(
          {operands.at(AttentionPart::kQ, copy), operands.at(AttentionPart::kK, copy),
           operands.at(AttentionPart::kV, copy), operands.at(AttentionPart::kO, copy),
           statistics_.data(), workspace_.data()}));
  }

  void enqueue(uint64_t copy) override {
    CUDA_CHECK_STATUS(cudnnBackendExecute, execution_->execute(handle_, packs_[copy]));
  }

 private:
  const std::shared_ptr<const AttentionExecution> execution_;
  const Buffer workspace_, statistics_;
  const nvidia::cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> packs_;  // one for each copy
};

class CudnnAttentionPlan final : public plugin::TypedPlan<CudnnAttentionPlan, Attention> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static Attention parse(const plugin::Problem& problem) { return attention_problem(problem); }

  CudnnAttentionPlan(const Attention& attention, const plugin::Options& options,
                     const std::string& candidate)
      : TypedPlan(attention, options),
        copies_(plan_copies(AttentionOperands::touched_bytes(attention), options)) {
    require_built_in_kernels("attention");
    require_precision_support(attention.precision, options.device);
    require_fused_attention(attention, version());
    const Stream& stream = Stream::of(options.device);
    cudnn_handle(stream);  // its making is no part of planning
    const plugin::HostTimer timer;
    execution_ = std::make_shared<const AttentionExecution>(attention, candidate, stream);
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn " + version(), execution_->engine(), memory_bytes(), workspace_bytes(),
                  sink);
    sink.real("planning_ns", planning_ns_);
  }
  std::vector<std::string> candidates(int64_t) const override { return execution_->engines(); }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<AttentionOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed, DeviceMemory(stream));
    auto call = std::make_unique<FusedCall>(execution_, *operands, statistics_bytes(), stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static std::string version() { return library().version; }
  uint64_t statistics_bytes() const { return AttentionOperations::statistics_bytes(problem_); }
  uint64_t workspace_bytes() const { return execution_->workspace_bytes() + statistics_bytes(); }
  uint64_t memory_bytes() const {
    return saturating_add(AttentionOperands::needed_bytes(problem_, copies_), workspace_bytes());
  }

  const plugin::CopyPlan copies_;
  std::shared_ptr<const AttentionExecution> execution_;
  double planning_ns_ = 0;
};

}  // namespace

Implementation& cudnn_attention() { return implementation_of_plan<CudnnAttentionPlan>(); }

}  // namespace deepbench::cuda
