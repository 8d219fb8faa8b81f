// The library "reference": a recurrent layer and its gradients in double. Only the verification of
// large gradients uses it.
#include "implementation.hpp"
#include "libraries.hpp"
#include "ops/rnn/composition.hpp"
#include "ops/rnn/layer_checks.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kOnlyCandidate = "composition";

class ReferenceOperands final : public MatrixOperands {
 public:
  ReferenceOperands(const Rnn& rnn, const plugin::Options& options, Stream& stream)
      : MatrixOperands(stream),
        rnn_(rnn),
        composition_(rnn, parse_inputs(options.inputs), options.seed, stream) {
    poison_outputs();
    stream.synchronize();
  }

  const Rnn& rnn() const { return rnn_; }
  Composition& composition() { return composition_; }

  void describe(plugin::Sink& sink) const override { sink.integer("inputs", rnn_.inputs); }
  void poison_outputs() override { cuda::poison(output(0), stream_); }

 private:
  Matrix output(uint64_t) const override {
    return {composition_.output(), DEEPBENCH_F64, uint64_t(rnn_.outputs()), 1, 1, 0};
  }

  Rnn rnn_;
  Composition composition_;
};

class ReferenceCall final : public LibraryCall {
 public:
  explicit ReferenceCall(ReferenceOperands& operands) : operands_(operands) {}

  void enqueue(uint64_t) override { operands_.composition().run(); }

  deepbench_forward_states adopt_forward_states(const plugin::LibraryCall& tested) override {
    return operands_.composition().adopt_states(tested.forward_state());
  }

 private:
  ReferenceOperands& operands_;
};

// Uses one copy in every cache regime, because its time is not measured.
class ReferenceRnnPlan final : public plugin::TypedPlan<ReferenceRnnPlan, Rnn> {
 public:
  static LibraryFacts library() { return {"1", "", report<nvidia::Cublas>().reason}; }
  static Rnn parse(const plugin::Problem& problem) { return skip_input_rnn(problem); }

  ReferenceRnnPlan(const Rnn& rnn, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(rnn, options) {
    require_skip_input_layer(rnn);
    if (!candidate.empty()) require_candidate("reference", {kOnlyCandidate}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t bytes = Composition::needed_bytes(problem_);
    describe_plan("reference", kOnlyCandidate, bytes, bytes, sink);
  }

  std::vector<std::string> candidates(int64_t) const override { return {kOnlyCandidate}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<ReferenceOperands>(problem_, options_, stream);
    auto call = std::make_unique<ReferenceCall>(*operands);
    return std::make_unique<PreparedKernel>(stream, plugin::CopyPlan{}, std::move(operands),
                                            std::move(call));
  }
};

}  // namespace

Implementation& reference_rnn() { return implementation_of_plan<ReferenceRnnPlan>(); }

}  // namespace deepbench::cuda
