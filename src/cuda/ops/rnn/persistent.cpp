// The library of built-in kernels for recurrent layers: inference with weights that stay on the
// chip.
#include <algorithm>

#include "implementation.hpp"
#include "kernels/jit.hpp"
#include "kernels/precompile.hpp"
#include "ops/rnn/layer_checks.hpp"
#include "ops/rnn/operands.hpp"
#include "ops/rnn/persistent_plan.hpp"
#include "requirements.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// The value of each of four bytes; not 0, the initial content of the mailbox.
constexpr int kFirstStep = 1;

class PersistentCall final : public LibraryCall {
 public:
  PersistentCall(const PersistentPlan& plan, const LayerOperands& operands, Stream& stream)
      : plan_(plan),
        operands_(operands),
        stream_(stream.get()),
        workspace_(bytes()),
        function_(planned_function("persistent", persistent_expression(rnn(), plan), stream)) {
    CUDA_CHECK(cudart().cudaMemsetAsync(workspace_.data(), 0, bytes(), stream_));
    CUDA_CHECK(cudart().cudaMemsetAsync(steps(), kFirstStep, sizeof(uint32_t), stream_));
    stream.synchronize();
  }

  void enqueue(uint64_t copy) override {
    LaunchShape shape;
    shape.grid_x = plan_.blocks;
    shape.block_x = PERSISTENT_THREADS;
    shape.shared_bytes = plan_.shared_bytes;
    function_.kernel.launch(shape, stream_, layer(copy));
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", plugin::builtin_library_name("persistent"));
    sink.text("algorithm", plan_.name);
    sink.integer("workspace_bytes", int64_t(bytes()));
    function_.describe(sink);
    sink.text("note.persistent", std::to_string(plan_.blocks) +
                                     " blocks keep the recurrent weights in registers and shared "
                                     "memory from the first step to the last");
  }

 private:
  const Rnn& rnn() const { return operands_.storage().rnn; }
  uint64_t bytes() const { return persistent_workspace_bytes(rnn()); }
  std::byte* steps() const { return workspace_.data() + bytes() - sizeof(uint32_t); }

  PersistentLayer layer(uint64_t copy) const {
    const WeightOffsets& offsets = operands_.storage().weights;
    const auto* const weights = static_cast<const std::byte*>(part(LayerPart::kWeights, copy));
    PersistentLayer layer = {};
    layer.x = static_cast<const uint16_t*>(part(LayerPart::kX, copy));
    layer.u = reinterpret_cast<const uint16_t*>(weights + offsets.u.front());
    layer.b = reinterpret_cast<const uint16_t*>(weights + offsets.b.front());
    layer.h0 = static_cast<const uint16_t*>(part(LayerPart::kH0, copy));
    layer.c0 = static_cast<const uint16_t*>(part(LayerPart::kC0, copy));
    layer.y = static_cast<uint16_t*>(part(LayerPart::kY, copy));
    layer.mailbox = reinterpret_cast<uint64_t*>(workspace_.data());
    layer.steps = reinterpret_cast<uint32_t*>(steps());
    layer.timesteps = uint32_t(rnn().timesteps);
    return layer;
  }
  void* part(LayerPart which, uint64_t copy) const { return operands_.at(which, copy); }

  PersistentPlan plan_;
  const LayerOperands& operands_;
  nvidia::cudaStream_t stream_;
  Buffer workspace_;
  const PlannedFunction function_;
};

class PersistentRnn final : public Implementation {
 public:
  LibraryFacts library() override { return plugin::builtin_library_facts(); }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(skip_input_rnn(problem), options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const Rnn rnn = skip_input_rnn(problem);
    plan(rnn, options);
    const LayerStorage storage = persistent_storage(rnn);
    return saturating_add(storage.needed_bytes(plan_copies(storage.touched_bytes(), options)),
                          persistent_workspace_bytes(rnn));
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    const Rnn rnn = skip_input_rnn(problem);
    std::vector<std::string> names, expressions;
    for (const PersistentPlan& known : plans(rnn, options)) {
      names.push_back(known.name);
      expressions.push_back(persistent_expression(rnn, known));
    }
    if (options.limit > 0) precompile("persistent", expressions, options.device);
    return names;
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    const Rnn rnn = skip_input_rnn(problem);
    const PersistentPlan chosen = plan(rnn, options);
    const LayerStorage storage = persistent_storage(rnn);
    Stream& stream = Stream::of(options.device);
    const plugin::CopyPlan copies = plan_copies(storage.touched_bytes(), options);
    auto operands = std::make_unique<LayerOperands>(storage, copies, parse_inputs(options.inputs),
                                                    options.seed, stream);
    auto call = std::make_unique<PersistentCall>(chosen, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  static std::vector<PersistentPlan> plans(const Rnn& rnn, const plugin::Options& options) {
    require_built_in_kernels("rnn");
    return persistent_plans(rnn, device_facts(options.device));
  }
  static PersistentPlan plan(const Rnn& rnn, const plugin::Options& options) {
    for (PersistentPlan& known : plans(rnn, options))
      if (options.candidate.empty() || options.candidate == known.name) return std::move(known);
    reject_candidate("persistent", options.candidate);
  }
};

}  // namespace

Implementation& persistent_rnn() {
  static auto* implementation = new PersistentRnn();
  return *implementation;
}

}  // namespace deepbench::cuda
