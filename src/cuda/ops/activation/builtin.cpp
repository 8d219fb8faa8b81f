// Activations and their gradients by built-in kernels.
#include <algorithm>

#include "array_map_plan.hpp"
#include "deepbench/ops/activation/activation.hpp"
#include "device.hpp"
#include "kernels/activation.h"
#include "kernels/jit.hpp"
#include "kernels/number_type.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kVectors = "vectors";
constexpr uint64_t kBytesOfThread = 64;  // bytes of each array that a thread handles at once
// Several rounds for each thread hide the start of blocks. With fewer blocks, some multiprocessors
// would be idle at the end.
constexpr uint64_t kBlocksOfMultiprocessor = 16;

std::string expression_of(const Activation& activation) {
  return std::string("activate<") + number_type_of(activation.type()) + ", " +
         std::to_string(int(activation.kind)) + (activation.is_forward ? ", true>" : ", false>");
}

LaunchShape shape_of(const Activation& activation, int multiprocessors) {
  const uint64_t bytes = activation.elements * uint64_t(size_of(activation.type()));
  const uint64_t useful = bytes / (kBytesOfThread * ACTIVATION_THREADS) + 1;
  LaunchShape shape;
  shape.block_x = ACTIVATION_THREADS;
  shape.grid_x = uint32_t(std::min(useful, kBlocksOfMultiprocessor * uint64_t(multiprocessors)));
  return shape;
}

class BuiltinActivationCall final : public LibraryCall {
 public:
  BuiltinActivationCall(const Activation& activation, const std::string&,
                        const DeviceArrays& operands, Stream& stream)
      : activation_(activation),
        operands_(operands),
        function_(planned_function("activation", expression_of(activation), stream)),
        shape_(shape_of(activation, device_facts(stream.device()).multiprocessors)),
        stream_(stream.get()) {}

  void describe(plugin::Sink& sink) const override { function_.describe(sink); }

  void enqueue(uint64_t copy) override {
    ActivationArrays arrays = {};
    arrays.x = operands_.input(0, copy);
    if (!activation_.is_forward) arrays.dy = operands_.input(1, copy);
    arrays.result = operands_.result(copy);
    arrays.elements = activation_.elements;
    function_.kernel.launch(shape_, stream_, arrays);
  }

 private:
  const Activation activation_;
  const DeviceArrays& operands_;
  const PlannedFunction function_;
  const LaunchShape shape_;
  const nvidia::cudaStream_t stream_;
};

struct BuiltinActivation {
  static constexpr const char* kOperation = "activation";
  static constexpr const char* kLibrary = "builtin";
  using Problem = Activation;
  using Call = BuiltinActivationCall;

  static Activation parse(const plugin::Problem& problem) { return activation_problem(problem); }
  static uint64_t outputs(const Activation& activation) { return activation.elements; }
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static std::string library_text() { return plugin::built_in_library_with_version(kLibrary); }
  static std::vector<std::string> candidates(const Activation&) { return {kVectors}; }
};

}  // namespace

Implementation& builtin_activation() {
  return implementation_of_plan<ArrayMapPlan<BuiltinActivation>>();
}

}  // namespace deepbench::cuda
