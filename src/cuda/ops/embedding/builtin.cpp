// Lookups by built-in kernels, since no library of NVIDIA offers them.
#include <memory>
#include <string>
#include <vector>

#include "deepbench/backend/partial_access.hpp"
#include "device.hpp"
#include "implementation.hpp"
#include "ops/embedding/lookup_kernel.hpp"
#include "ops/embedding/operands.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

class EmbeddingCall final : public LibraryCall {
 public:
  EmbeddingCall(const LookupKernel& kernel, const EmbeddingOperands& operands, Stream& stream)
      : kernel_(kernel),
        operands_(operands),
        function_(planned_function("embedding", kernel.expression, stream)),
        stream_(stream.get()) {}

  void describe(plugin::Sink& sink) const override { function_.describe(sink); }

  void enqueue(uint64_t copy) override {
    EmbeddingLookups lookups = kernel_.lookups;
    lookups.table = operands_.table(copy), lookups.rows = operands_.rows(copy);
    lookups.indices = operands_.indices(copy);
    function_.kernel.launch(kernel_.shape, stream_, lookups);
  }

 private:
  const LookupKernel kernel_;
  const EmbeddingOperands& operands_;
  const PlannedFunction function_;
  const nvidia::cudaStream_t stream_;
};

class BuiltinEmbeddingPlan final : public plugin::TypedPlan<BuiltinEmbeddingPlan, Embedding> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Embedding parse(const plugin::Problem& problem) { return embedding_problem(problem); }

  BuiltinEmbeddingPlan(const Embedding& embedding, const plugin::Options& options,
                       const std::string& candidate)
      : TypedPlan(embedding, options),
        kernel_(lookup_kernel(embedding)),
        copies_(planned_copies(embedding, options)) {
    if (!candidate.empty())
      require_candidate(plugin::kBuiltinLibrary, {plugin::kBuiltinLibrary}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(plugin::kBuiltinLibrary),
                  kernel_.expression, EmbeddingOperands::needed_bytes(problem_, copies_), 0, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {plugin::kBuiltinLibrary}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<EmbeddingOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed, EmbeddingMemory(stream));
    auto call = std::make_unique<EmbeddingCall>(kernel_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static plugin::CopyPlan planned_copies(const Embedding& embedding,
                                         const plugin::Options& options) {
    require_built_in_kernels("embedding");
    require_precision_support(embedding.precision, options.device);
    return plan_copies(uint64_t(embedding.touched_bytes()),
                       plugin::limit_copies(options, uint64_t(embedding.stored_bytes()),
                                            device_facts(options.device).memory_bytes));
  }

  const LookupKernel kernel_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& builtin_embedding() { return implementation_of_plan<BuiltinEmbeddingPlan>(); }

}  // namespace deepbench::cuda
