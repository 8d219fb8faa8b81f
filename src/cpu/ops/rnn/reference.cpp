// The library "reference": a recurrent layer and its gradients in float, composed from matrix
// products and pointwise code that is independent of any library's RNN. Only the verification of
// large gradients uses it.
#include <string>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/rnn/composition.hpp"
#include "ops/rnn/reference_operands.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kOnlyCandidate = "composition";

LayerStorage reference_storage(const Rnn& rnn) {
  LayerStorage storage;
  storage.rnn = rnn;
  storage.du = plain_strides(rnn);
  storage.weight_bytes = uint64_t(rnn.weights() + rnn.gates() * rnn.hidden) * sizeof(float);
  return storage;
}

class ReferenceRnnPlan final : public plugin::TypedPlan<ReferenceRnnPlan, Rnn> {
 public:
  static LibraryFacts library() { return {"1", "", ""}; }
  static Rnn parse(const plugin::Problem& problem) { return rnn_problem(problem); }

  ReferenceRnnPlan(const Rnn& rnn, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(rnn, options),
        storage_(reference_storage(rnn)),
        copies_(plan_copies(storage_.touched_bytes(), options)) {
    cell_named(rnn.cell);
    if (rnn.precision.a != DEEPBENCH_F32 && rnn.precision.a != DEEPBENCH_BF16)
      plugin::unsupported("the reference supports float and bfloat16, but not " +
                          std::string(rnn.precision.name));
    if (rnn.precision.precision == Precision::kTf32)
      plugin::unsupported("the reference does not support tf32");
    if (!candidate.empty()) require_candidate("reference", {kOnlyCandidate}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan("reference", kOnlyCandidate, memory_bytes(),
                  Intermediates::needed_bytes(problem_), sink);
  }

  std::vector<std::string> candidates(int64_t) const override { return {kOnlyCandidate}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    const int threads = thread_count(options_.threads);
    auto operands = std::make_unique<ReferenceOperands>(
        storage_, copies_, parse_inputs(options_.inputs), options_.seed);
    auto call = std::make_unique<Composition>(*operands, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_, threads);
  }

 private:
  uint64_t memory_bytes() const {
    return saturating_add(storage_.needed_bytes(copies_), Intermediates::needed_bytes(problem_));
  }

  const LayerStorage storage_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& reference_rnn() { return implementation_of_plan<ReferenceRnnPlan>(); }

}  // namespace deepbench::cpu
