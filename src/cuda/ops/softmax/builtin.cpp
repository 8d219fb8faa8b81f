// Softmax and its gradient by built-in kernels.
#include "array_map_plan.hpp"
#include "kernels/jit.hpp"
#include "kernels/softmax.h"
#include "ops/softmax/builtin_plan.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

class BuiltinSoftmaxCall final : public LibraryCall {
 public:
  BuiltinSoftmaxCall(const Softmax& softmax, const std::string& candidate,
                     const DeviceArrays& operands, Stream& stream)
      : softmax_(softmax),
        plan_(builtin_softmax_plan(softmax, candidate)),
        operands_(operands),
        function_(planned_function("softmax", plan_.expression, stream)),
        stream_(stream.get()) {}

  void describe(plugin::Sink& sink) const override { function_.describe(sink); }

  void enqueue(uint64_t copy) override {
    SoftmaxArrays arrays = {};
    arrays.x = operands_.input(0, copy);
    if (!softmax_.is_forward) arrays.dy = operands_.input(1, copy);
    arrays.result = operands_.result(copy);
    arrays.rows = uint64_t(softmax_.rows), arrays.columns = uint64_t(softmax_.columns);
    function_.kernel.launch(plan_.shape, stream_, arrays);
  }

 private:
  const Softmax softmax_;
  const BuiltinSoftmaxPlan plan_;
  const DeviceArrays& operands_;
  const PlannedFunction function_;
  const nvidia::cudaStream_t stream_;
};

struct BuiltinSoftmax {
  static constexpr const char* kOperation = "softmax";
  static constexpr const char* kLibrary = "builtin";
  using Problem = Softmax;
  using Call = BuiltinSoftmaxCall;

  static Softmax parse(const plugin::Problem& problem) { return softmax_problem(problem); }
  static uint64_t outputs(const Softmax& softmax) { return softmax.elements(); }
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static std::string library_text() { return plugin::built_in_library_with_version(kLibrary); }
  static std::vector<std::string> candidates(const Softmax& softmax) {
    std::vector<std::string> ids = builtin_softmax_candidates(softmax);
    builtin_softmax_plan(softmax, ids.front());
    return ids;
  }
};

}  // namespace

Implementation& builtin_softmax() { return implementation_of_plan<ArrayMapPlan<BuiltinSoftmax>>(); }

}  // namespace deepbench::cuda
