// Convolutions through cuDNN's graph API. A call executes one engine of the library with its knobs.
#include "cudnn/handle.hpp"
#include "ops/conv/cudnn_implementation.hpp"
#include "ops/conv/cudnn_plan.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace dnn {
namespace {

class ConvCall final : public LibraryCall {
 public:
  ConvCall(ConvPlan plan, const ConvOperands& operands, Stream& stream)
      : plan_(std::move(plan)), workspace_(plan_.workspace_bytes()), handle_(cudnn_handle(stream)) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      variants_.push_back(plan_.execution->make_variant_pack(operands.x(copy), operands.w(copy),
                                                             operands.y(copy), workspace_.data()));
  }

  void enqueue(uint64_t copy) override {
    CUDA_CHECK_STATUS(cudnnBackendExecute, plan_.execution->execute(handle_, variants_[copy]));
  }

  void describe(plugin::Sink& sink) const override {
    const EngineNotes& notes = plan_.execution->notes();
    describe_arithmetic(plan_.layout.problem, {notes.winograd, notes.fft, notes.compute_in_float()},
                        sink);
  }

 private:
  ConvPlan plan_;
  Buffer workspace_;
  nvidia::cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> variants_;  // one for each copy
};

struct GraphInterface {
  static constexpr const char* kName = "cudnn";
  using Queries = ConvQueries;
  using Plan = ConvPlan;
  using Call = ConvCall;
};

}  // namespace
}  // namespace dnn

Implementation& cudnn_conv() {
  return implementation_of_plan<CudnnConvolutionPlan<dnn::GraphInterface>>();
}

}  // namespace deepbench::cuda
