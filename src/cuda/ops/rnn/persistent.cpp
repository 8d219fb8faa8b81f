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
    function_.kernel.require_resident(launch_shape(), stream.device());
    CUDA_CHECK(cudart().cudaMemsetAsync(workspace_.data(), 0, bytes(), stream_));
    CUDA_CHECK(cudart().cudaMemsetAsync(steps(), kFirstStep, sizeof(uint32_t), stream_));
    stream.synchronize();
  }

  void enqueue(uint64_t copy) override {
    function_.kernel.launch(launch_shape(), stream_, layer(copy));
  }

  void describe(plugin::Sink& sink) const override {
    function_.describe(sink);
    if (plan_.padded_hidden != rnn().hidden) {
      sink.integer("padded.hidden", plan_.padded_hidden);
      sink.text("padding_rule", "hidden to a multiple of " +
                                    std::to_string(PERSISTENT_PAIR_COLUMNS) +
                                    ", where the kernel keeps weights and states");
    }
    sink.text("note.persistent", std::to_string(plan_.blocks) +
                                     " blocks keep the recurrent weights in registers and shared "
                                     "memory from the first step to the last");
  }

 private:
  const Rnn& rnn() const { return operands_.storage().rnn; }
  LaunchShape launch_shape() const {
    LaunchShape shape;
    shape.grid_x = plan_.blocks;
    shape.block_x = PERSISTENT_THREADS;
    shape.shared_bytes = plan_.shared_bytes;
    shape.cooperative = true;
    return shape;
  }
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

class PersistentRnnPlan final : public plugin::TypedPlan<PersistentRnnPlan, Rnn> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Rnn parse(const plugin::Problem& problem) { return skip_input_rnn(problem); }

  PersistentRnnPlan(const Rnn& rnn, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(rnn, options),
        plans_(supported_plans(rnn, options)),
        plan_(plan_named(candidate)),
        storage_(persistent_storage(rnn)),
        copies_(plan_copies(storage_.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = persistent_workspace_bytes(problem_);
    describe_plan(plugin::built_in_library_with_version("persistent"), plan_.name,
                  saturating_add(storage_.needed_bytes(copies_), workspace), workspace, sink);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    std::vector<std::string> names, expressions;
    for (const PersistentPlan& known : plans_) {
      names.push_back(known.name);
      expressions.push_back(persistent_expression(problem_, known));
    }
    compiling_ns_ = limit > 0 ? precompile("persistent", expressions, options_.device) : 0;
    return names;
  }
  double listing_compiling_ns() const override { return compiling_ns_; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<LayerOperands>(
        storage_, copies_, parse_inputs(options_.inputs), options_.seed, stream);
    auto call = std::make_unique<PersistentCall>(plan_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static std::vector<PersistentPlan> supported_plans(const Rnn& rnn,
                                                     const plugin::Options& options) {
    require_built_in_kernels("rnn");
    return persistent_plans(rnn, device_facts(options.device));
  }
  const PersistentPlan& plan_named(const std::string& candidate) const {
    for (const PersistentPlan& known : plans_)
      if (candidate.empty() || candidate == known.name) return known;
    reject_candidate("persistent", candidate);
  }

  const std::vector<PersistentPlan> plans_;
  const PersistentPlan plan_;
  const LayerStorage storage_;
  const plugin::CopyPlan copies_;
  mutable double compiling_ns_ = 0;  // in the last call of candidates()
};

}  // namespace

Implementation& persistent_rnn() { return implementation_of_plan<PersistentRnnPlan>(); }

}  // namespace deepbench::cuda
