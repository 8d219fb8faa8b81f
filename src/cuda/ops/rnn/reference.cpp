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
    poison();
    stream.synchronize();
  }

  const Rnn& rnn() const { return rnn_; }
  Composition& composition() { return composition_; }

  void describe(plugin::Sink& sink) const override { sink.integer("inputs", rnn_.inputs); }
  void poison() override { cuda::poison(output(0), stream_); }

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

  deepbench_following follow(const LibraryCall& other) override {
    return operands_.composition().follow(other.forward_state());
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "reference");
    sink.text("algorithm", kOnlyCandidate);
    sink.integer("workspace_bytes", int64_t(Composition::needed_bytes(operands_.rnn())));
  }

 private:
  ReferenceOperands& operands_;
};

// Uses one copy in every cache regime, because its time is not measured.
class ReferenceRnn final : public Implementation {
 public:
  LibraryFacts library() override {
    const LibraryReport& found = report<nvidia::Cublas>();
    return {"1", "", found.reason};
  }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    require_skip_input_layer(skip_input_rnn(problem));
    require_candidate("reference", {kOnlyCandidate}, options.candidate);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    supports(problem, options);
    return Composition::needed_bytes(skip_input_rnn(problem));
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    supports(problem, options);
    return {kOnlyCandidate};
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    supports(problem, options);
    Stream& stream = Stream::of(options.device);
    auto operands = std::make_unique<ReferenceOperands>(skip_input_rnn(problem), options, stream);
    auto call = std::make_unique<ReferenceCall>(*operands);
    return std::make_unique<PreparedKernel>(stream, plugin::CopyPlan{}, std::move(operands),
                                            std::move(call));
  }
};

}  // namespace

Implementation& reference_rnn() {
  static auto* implementation = new ReferenceRnn();
  return *implementation;
}

}  // namespace deepbench::cuda
