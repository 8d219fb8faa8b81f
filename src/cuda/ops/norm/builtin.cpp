// Normalization by built-in kernels: every kind, phase and precision.
#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "implementation.hpp"
#include "ops/norm/kernels.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kKernel = "kernel";

class NormCall final : public LibraryCall {
 public:
  NormCall(const NormLaunches& plan, NormOperands& operands, Stream& stream)
      : operands_(operands), stream_(stream), kernels_(plan, operands, stream) {
    NormCall::operands_refilled();
  }

  void describe(plugin::Sink& sink) const override { kernels_.describe(sink); }
  void enqueue(uint64_t copy) override {
    kernels_.enqueue(copy, operands_.at(operands_.norm().outputs().front(), copy));
  }
  void operands_refilled() override { prepare_statistics(operands_, stream_); }

 private:
  NormOperands& operands_;
  Stream& stream_;
  const NormKernels kernels_;
};

class BuiltinNormPlan final : public plugin::TypedPlan<BuiltinNormPlan, Norm> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Norm parse(const plugin::Problem& problem) { return norm_problem(problem); }

  BuiltinNormPlan(const Norm& norm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(norm, options),
        launches_(norm_launches(norm, device_facts(options.device).multiprocessors)),
        copies_(plan_copies(uint64_t(norm.traffic()), options)) {
    require_built_in_kernels("norm");
    require_precision_support(norm.precision, options.device);
    parse_inputs(options.inputs);
    if (!candidate.empty()) require_candidate(plugin::kBuiltinLibrary, {kKernel}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = launches_.partial_bytes;
    describe_plan(plugin::built_in_library_with_version(plugin::kBuiltinLibrary), kKernel,
                  NormOperands::needed_bytes(problem_, copies_, workspace), workspace, sink);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
    sink.text("note.kernels", launches_.text());
  }
  std::vector<std::string> candidates(int64_t) const override { return {kKernel}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<NormOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory(stream));
    auto call = std::make_unique<NormCall>(launches_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  const NormLaunches launches_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& builtin_norm() { return implementation_of_plan<BuiltinNormPlan>(); }

}  // namespace deepbench::cuda
