// axpy in float by one loop. The threads share the elements.
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/ops/axpy/axpy.hpp"
#include "deepbench/plugin.hpp"
#include "host_memory.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "prepared_kernel.hpp"
#include "thread_team.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kLibrary = "loop";
constexpr uint64_t kLineElements = kLineBytes / sizeof(float);

// Holds the operands x and y. The result overwrites y.
class AxpyOperands final : public ArrayOperands {
 public:
  AxpyOperands(const Axpy& axpy, const CopyPlan& plan, Inputs inputs, uint64_t seed)
      : axpy_(axpy), x_(bytes(), plan.copies), y_(bytes(), plan.copies), initial_y_(bytes(), 1) {
    fill(x_.at(0), axpy.type(), elements(), inputs, seed, Axpy::kStreamX);
    x_.replicate();
    fill(initial_y_.at(0), axpy.type(), elements(), inputs, seed, Axpy::kStreamY);
    restore();
  }

  static uint64_t needed_bytes(const Axpy& axpy, const CopyPlan& plan) {
    const auto bytes = uint64_t(axpy.vector_bytes());
    return 2 * Copies::needed_bytes(bytes, plan.copies) + Copies::needed_bytes(bytes, 1) +
           plan.flush_bytes;
  }

  uint64_t elements() const { return uint64_t(axpy_.n); }
  const float* x(uint64_t copy) const { return reinterpret_cast<const float*>(x_.at(copy)); }
  float* y(uint64_t copy) const { return reinterpret_cast<float*>(y_.at(copy)); }

  void describe(plugin::Sink& sink) const override { sink.integer("in_place", 1); }
  void restore() override { y_.overwrite(initial_y_.at(0)); }
  void poison_outputs() override { restore(); }

 protected:
  HostMemory::Array output(uint64_t copy) const override {
    return {y_.at(copy), axpy_.type(), elements()};
  }
  const void* restored() const override { return initial_y_.at(0); }

 private:
  uint64_t bytes() const { return uint64_t(axpy_.vector_bytes()); }

  const Axpy axpy_;
  Copies x_, y_, initial_y_;
};

class AxpyCall final : public LibraryCall {
 public:
  AxpyCall(const AxpyOperands& operands, int threads)
      : operands_(operands), team_(topology().cpus_for_threads(threads)) {}

  void begin_batch() override { team_.bind_caller(); }
  int run(uint64_t copy) override {
    const float* const x = operands_.x(copy);
    float* const y = operands_.y(copy);
    team_.run([&](size_t member) {
      const uint64_t end = begin_of(member + 1);
      for (uint64_t i = begin_of(member); i < end; ++i) y[i] += float(Axpy::kA) * x[i];
    });
    return 0;
  }

 private:
  // Parts begin with a cache line, so that no line is written by two threads.
  uint64_t begin_of(size_t member) const {
    return part_begin(operands_.elements(), kLineElements, member, team_.size());
  }

  const AxpyOperands& operands_;
  ThreadTeam team_;
};

class LoopAxpyPlan final : public plugin::TypedPlan<LoopAxpyPlan, Axpy> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Axpy parse(const plugin::Problem& problem) { return axpy_problem(problem); }

  LoopAxpyPlan(const Axpy& axpy, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(axpy, options),
        threads_(thread_count(options.threads)),
        copies_(plan_copies(2 * uint64_t(axpy.vector_bytes()), options)) {
    if (axpy.precision.name != "float")
      plugin::unsupported("the loop does not compute axpy in " + std::string(axpy.precision.name));
    if (!candidate.empty()) require_candidate(kLibrary, {kLibrary}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(kLibrary), kLibrary, memory_bytes(), 0,
                  sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLibrary}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    auto operands = std::make_unique<AxpyOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed);
    auto call = std::make_unique<AxpyCall>(*operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  uint64_t memory_bytes() const { return AxpyOperands::needed_bytes(problem_, copies_); }

  const int threads_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& loop_axpy() { return implementation_of_plan<LoopAxpyPlan>(); }

}  // namespace deepbench::cpu
