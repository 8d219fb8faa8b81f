// Products of groups through a loop over cublasLtMatmul, one call for each group that has rows: the
// baseline of libraries that compute all groups at once.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "implementation.hpp"
#include "ops/gemm/cublaslt_plan.hpp"
#include "ops/grouped_gemm/operands.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace lt {
namespace {

constexpr const char* kLoop = "loop";

// The planned products of all groups; the key is the number of their rows.
using Products = std::map<int64_t, Plan>;

// The largest power of two that divides the distance between the groups' parts of an operand, up to
// the alignment of allocated memory.
uint32_t alignment_of(int64_t elements, deepbench_type type) {
  constexpr uint64_t kAllocated = 256;
  const uint64_t distance = uint64_t(elements) * uint64_t(size_of(type));
  return uint32_t(std::min(kAllocated, distance & (~distance + 1)));
}

Plan plan_product(const GroupedGemm& problem, int64_t group, const plugin::Options& options) {
  const GemmLayout layout = plugin::unpadded_layout("plain", product_of_group(problem, group),
                                                    /*in_place=*/false);
  const Alignment alignment = {alignment_of(problem.k * problem.n, problem.precision.b),
                               alignment_of(problem.k, problem.precision.a),
                               alignment_of(problem.n, problem.precision.c)};
  Heuristics heuristics;
  std::optional<Plan> plan = plan_first_choice(
      {layout, options.device, uint64_t(std::max<int64_t>(0, options.workspace)), alignment},
      heuristics);
  if (!plan)
    plugin::unsupported("cuBLASLt " + version() + " has no algorithm for " +
                        std::string(problem.precision.name) +
                        " of these dimensions on this device");
  return std::move(*plan);
}

std::shared_ptr<const Products> plan_products(const GroupedGemm& problem,
                                              const plugin::Options& options) {
  require_grouped_gemm_on_device(problem, options.device);
  auto products = std::make_shared<Products>();
  for (int64_t group = 0; group < problem.groups; ++group) {
    const int64_t rows = problem.rows_of(group);
    if (rows > 0 && products->count(rows) == 0)
      products->emplace(rows, plan_product(problem, group, options));
  }
  return products;
}

uint64_t largest_workspace(const Products& products) {
  uint64_t largest = 0;
  for (const auto& [rows, plan] : products) largest = std::max(largest, plan.workspace_bytes);
  return largest;
}

// The calls of a loop follow one another on the stream and share a workspace.
class LoopCall final : public LibraryCall {
 public:
  LoopCall(std::shared_ptr<const Products> products, const GroupedGemmOperands& operands,
           Stream& stream)
      : products_(std::move(products)),
        operands_(operands),
        workspace_(largest_workspace(*products_)),
        library_(cublaslt()),
        handle_(handle(stream.device())),
        stream_(stream.get()) {
    for (const auto& [rows, plan] : *products_)
      descriptors_.try_emplace(rows, plan.layout.executed);
  }

  void enqueue(uint64_t copy) override {
    for (int64_t group = 0; group < operands_.problem().groups; ++group)
      if (operands_.problem().rows_of(group) > 0) multiply(copy, group);
  }

 private:
  void multiply(uint64_t copy, int64_t group) const {
    constexpr float kOne = 1, kZero = 0;
    const int64_t rows = operands_.problem().rows_of(group);
    const Descriptors& of = descriptors_.at(rows);
    CUDA_CHECK(library_.cublasLtMatmul(
        handle_, of.operation.get(), &kOne, operands_.b(copy, group), of.a.get(),
        operands_.a(copy, group), of.b.get(), &kZero, operands_.c(copy, group), of.c.get(),
        operands_.c(copy, group), of.c.get(), &products_->at(rows).algo, workspace_.data(),
        workspace_.bytes(), stream_));
  }

  const std::shared_ptr<const Products> products_;
  const GroupedGemmOperands& operands_;
  std::map<int64_t, Descriptors> descriptors_;  // the key is the number of rows
  const Buffer workspace_;
  const nvidia::CublasLt& library_;
  nvidia::cublasLtHandle_t handle_;
  nvidia::cudaStream_t stream_;
};

class LoopPlan final : public plugin::TypedPlan<LoopPlan, GroupedGemm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::CublasLt>(); }
  static GroupedGemm parse(const plugin::Problem& problem) { return grouped_gemm_problem(problem); }

  LoopPlan(const GroupedGemm& problem, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(problem, options),
        products_(plan_products(problem, options)),
        copies_(plan_copies(problem, options)) {
    if (!candidate.empty()) require_candidate("cublaslt_loop", {kLoop}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = largest_workspace(*products_);
    describe_plan(
        "cublaslt " + version(),
        "loop over " + std::to_string(problem_.groups_with_rows()) + " groups: " + algorithms(),
        saturating_add(GroupedGemmOperands::needed_bytes(problem_, copies_), workspace), workspace,
        sink);
    double planning_ns = 0;
    for (const auto& [rows, plan] : *products_) planning_ns += plan.planning_ns;
    sink.real("planning_ns", planning_ns);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLoop}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return prepare_grouped_gemm(problem_, copies_, options_,
                                [&](const GroupedGemmOperands& operands, Stream& stream) {
                                  return std::make_unique<LoopCall>(products_, operands, stream);
                                });
  }

 private:
  // Names the algorithm of the largest group, and states how many other algorithms there are.
  std::string algorithms() const {
    std::set<std::string> all;
    for (const auto& [rows, plan] : *products_) all.insert(plan.algorithm.text());
    const std::string largest = products_->rbegin()->second.algorithm.text();
    return all.size() == 1 ? largest
                           : largest + "; " + std::to_string(all.size() - 1) +
                                 " other algorithms for smaller groups";
  }

  const std::shared_ptr<const Products> products_;
  const plugin::CopyPlan copies_;
};

}  // namespace
}  // namespace lt

Implementation& cublaslt_loop_grouped_gemm() { return implementation_of_plan<lt::LoopPlan>(); }

}  // namespace deepbench::cuda
