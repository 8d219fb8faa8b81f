// A plan of a call on images through cuDNN's legacy API. The operation defines tensors and the
// call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "cudnn/images.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

// The tensors of a call, and the library's description of its computation.
template <class Descriptor>
struct ImageCallPlan {
  std::string layout;
  std::vector<Images> inputs;
  Images output;
  UniqueCudnn<Descriptor> descriptor;

  std::vector<const Images*> input_pointers() const {
    std::vector<const Images*> all;
    for (const Images& images : inputs) all.push_back(&images);
    return all;
  }
  uint64_t touched_bytes() const {
    uint64_t bytes = output.bytes();
    for (const Images& images : inputs) bytes += images.bytes();
    return bytes;
  }
};

// Throws plugin::Error: unsupported if cuDNN rejects the call.
inline void check_image_call(nvidia::cudnnStatus_t status) {
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN's legacy API does not support these images: " +
                        cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnn, status);
}

// Traits:
//   kOperation, kAlgorithm       names
//   Problem, parse(problem)
//   layouts()                    the default first
//   Descriptor, make(problem, layout)     the ImageCallPlan; throws unsupported
//   extra_bytes(plan, copies)    of the call, beside operands
//   Call(problem, plan, operands, stream)
template <class Traits>
class CudnnImagePlan final
    : public plugin::TypedPlan<CudnnImagePlan<Traits>, typename Traits::Problem> {
  using Problem = typename Traits::Problem;
  using Base = plugin::TypedPlan<CudnnImagePlan<Traits>, Problem>;
  using CallPlan = ImageCallPlan<typename Traits::Descriptor>;

 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static Problem parse(const plugin::Problem& problem) { return Traits::parse(problem); }

  CudnnImagePlan(const Problem& problem, const plugin::Options& options,
                 const std::string& candidate)
      : Base(problem, options),
        plan_(make_plan(problem, options, candidate)),
        copies_(plan_copies(plan_->touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn_legacy " + report<nvidia::Cudnn>().version,
                  plan_->layout + ": " + Traits::kAlgorithm, memory_bytes(), 0, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return Traits::layouts(); }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(this->options_.device);
    auto operands = std::make_unique<ImageOperands>(plan_->input_pointers(), plan_->output, copies_,
                                                    parse_inputs(this->options_.inputs),
                                                    this->options_.seed, stream);
    auto call = std::make_unique<typename Traits::Call>(this->problem_, plan_, *operands, stream);
    // The library rejects unsupported problems only when it is called.
    call->enqueue(0);
    operands->poison_outputs();
    stream.synchronize();
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static std::shared_ptr<const CallPlan> make_plan(const Problem& problem,
                                                   const plugin::Options& options,
                                                   const std::string& layout) {
    require_built_in_kernels(Traits::kOperation);
    require_precision_support(problem.precision, options.device);
    switch (problem.precision.precision) {
      case Precision::kFloat:
      case Precision::kHalf:
      case Precision::kBfloat16:
        break;
      default:
        plugin::unsupported("cuDNN does not support " + std::string(Traits::kOperation) + " in " +
                            std::string(problem.precision.name));
    }
    if (!layout.empty()) require_candidate("cudnn_legacy", Traits::layouts(), layout);
    return std::make_shared<const CallPlan>(
        Traits::make(problem, layout.empty() ? Traits::layouts().front() : layout));
  }

  uint64_t memory_bytes() const {
    return saturating_add(
        ImageOperands::needed_bytes(plan_->input_pointers(), plan_->output, copies_),
        Traits::extra_bytes(*plan_, copies_));
  }

  const std::shared_ptr<const CallPlan> plan_;
  const plugin::CopyPlan copies_;
};

}  // namespace deepbench::cuda
