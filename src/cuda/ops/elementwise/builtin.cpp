// Elementwise work by built-in kernels.
#include <algorithm>

#include "array_map_plan.hpp"
#include "deepbench/ops/elementwise/elementwise.hpp"
#include "device.hpp"
#include "kernels/elementwise.h"
#include "kernels/jit.hpp"
#include "kernels/number_type.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kVectorBytes = 16;
// Bytes of the result that a thread handles at once.
constexpr uint64_t kBytesOfThread = 2 * kVectorBytes;
// Several rounds for each thread hide the start of blocks. With fewer blocks, some multiprocessors
// would be idle at the end.
constexpr uint64_t kBlocksOfMultiprocessor = 16;

// Whether every half of a head and every row of a table begins at a multiple of a vector.
bool moves_vectors(const Elementwise& elementwise) {
  return elementwise.half() * size_of(elementwise.type()) % kVectorBytes == 0;
}

std::string expression_of(const Elementwise& elementwise) {
  const std::string type = number_type_of(elementwise.type());
  if (elementwise.is_rotary())
    return "rotate<" + type + (moves_vectors(elementwise) ? ", true>" : ", false>");
  return "combine<" + type + ", " + std::to_string(int(elementwise.kind)) + ">";
}

LaunchShape shape_of(const Elementwise& elementwise, int multiprocessors) {
  const uint64_t bytes = elementwise.elements() * uint64_t(size_of(elementwise.type()));
  const uint64_t useful = bytes / (kBytesOfThread * ELEMENTWISE_THREADS) + 1;
  LaunchShape shape;
  shape.block_x = ELEMENTWISE_THREADS;
  shape.grid_x = uint32_t(std::min(useful, kBlocksOfMultiprocessor * uint64_t(multiprocessors)));
  return shape;
}

class BuiltinElementwiseCall final : public LibraryCall {
 public:
  BuiltinElementwiseCall(const Elementwise& elementwise, const std::string&,
                         const DeviceArrays& operands, Stream& stream)
      : elementwise_(elementwise),
        operands_(operands),
        function_(planned_function("elementwise", expression_of(elementwise), stream)),
        shape_(shape_of(elementwise, device_facts(stream.device()).multiprocessors)),
        stream_(stream.get()) {}

  void describe(plugin::Sink& sink) const override { function_.describe(sink); }

  void enqueue(uint64_t copy) override { elementwise_.is_rotary() ? rotate(copy) : combine(copy); }

 private:
  void combine(uint64_t copy) {
    const CombinedArrays arrays = {operands_.input(0, copy), operands_.input(1, copy),
                                   operands_.result(copy), elementwise_.elements()};
    function_.kernel.launch(shape_, stream_, arrays);
  }
  void rotate(uint64_t copy) {
    const RotatedHeads arrays = {operands_.input(0, copy),     operands_.input(1, copy),
                                 operands_.input(2, copy),     operands_.result(copy),
                                 uint64_t(elementwise_.rows),  uint64_t(elementwise_.heads()),
                                 uint64_t(elementwise_.half())};
    function_.kernel.launch(shape_, stream_, arrays);
  }

  const Elementwise elementwise_;
  const DeviceArrays& operands_;
  const PlannedFunction function_;
  const LaunchShape shape_;
  const nvidia::cudaStream_t stream_;
};

struct BuiltinElementwise {
  static constexpr const char* kOperation = "elementwise";
  static constexpr const char* kLibrary = "builtin";
  using Problem = Elementwise;
  using Call = BuiltinElementwiseCall;

  static Elementwise parse(const plugin::Problem& problem) { return elementwise_problem(problem); }
  static uint64_t outputs(const Elementwise& elementwise) { return elementwise.elements(); }
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static std::string library_text() { return plugin::built_in_library_with_version(kLibrary); }
  static std::vector<std::string> candidates(const Elementwise& elementwise) {
    return {elementwise.is_rotary() && !moves_vectors(elementwise) ? "numbers" : "vectors"};
  }
};

}  // namespace

Implementation& builtin_elementwise() {
  return implementation_of_plan<ArrayMapPlan<BuiltinElementwise>>();
}

}  // namespace deepbench::cuda
