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

class ReferenceRnn final : public Implementation {
 public:
  LibraryFacts library() override { return {"1", "", ""}; }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    const Rnn rnn = rnn_problem(problem);
    cell_named(rnn.cell);
    if (rnn.precision.a != DEEPBENCH_F32 && rnn.precision.a != DEEPBENCH_BF16)
      plugin::unsupported("the reference supports float and bfloat16, but not " +
                          std::string(rnn.precision.name));
    if (rnn.precision.precision == Precision::kTf32)
      plugin::unsupported("the reference does not support tf32");
    require_candidate("reference", {kOnlyCandidate}, options.candidate);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    supports(problem, options);
    const LayerStorage storage = reference_storage(rnn_problem(problem));
    return saturating_add(storage.needed_bytes(plan_copies(storage.touched_bytes(), options)),
                          Intermediates::needed_bytes(storage.rnn));
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    supports(problem, options);
    return {kOnlyCandidate};
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    require_memory_for_operands(memory_needed(problem, options));
    const LayerStorage storage = reference_storage(rnn_problem(problem));
    const CopyPlan copies = plan_copies(storage.touched_bytes(), options);
    const int threads = thread_count(options.threads);
    auto operands = std::make_unique<ReferenceOperands>(storage, copies,
                                                        parse_inputs(options.inputs), options.seed);
    auto call = std::make_unique<Composition>(*operands, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
  }
};

}  // namespace

Implementation& reference_rnn() {
  static auto* implementation = new ReferenceRnn();
  return *implementation;
}

}  // namespace deepbench::cpu
