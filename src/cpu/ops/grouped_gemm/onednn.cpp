// Products of groups through a loop over oneDNN's matmul: one primitive for each number of rows
// that groups have, called once for each group that has rows.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/grouped_gemm_operands.hpp"
#include "deepbench/plugin.hpp"
#include "host_memory.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

using Operands = plugin::GroupedGemmOperands<HostMemory>;

// The products of all groups; the key is the number of their rows.
using Products = std::map<int64_t, PrimitiveDesc>;

// Plans C_g = A_g B_g in oneDNN's order, which is by rows like the problem's. B_g is stored
// transposed.
PrimitiveDesc plan_product(const GroupedGemm& problem, int64_t rows) {
  const Api& api = Api::instance();
  const int64_t n = problem.n, k = problem.k;
  const MemoryDesc source = plain_matrix(rows, k, k, 1, data_type(problem.precision.a));
  const MemoryDesc weights = plain_matrix(k, n, 1, k, data_type(problem.precision.b));
  const MemoryDesc result = plain_matrix(rows, n, n, 1, data_type(problem.precision.c));
  const Attributes attributes = strict_attributes();
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api.matmul_primitive_desc_create_f(
      &made, api.engine(), source.get(), weights.get(), nullptr, result.get(), attributes.get());
  require_primitive(status, "matrix product", problem.precision);
  PrimitiveDesc description(made);
  reject_too_slow(implementation_name(made), 2 * double(rows) * double(n) * double(k));
  return description;
}

std::shared_ptr<const Products> plan_products(const GroupedGemm& problem, int threads) {
  require_precision(problem.precision.precision);
  Api::instance().use_threads(threads);  // oneDNN's choice depends on it
  auto products = std::make_shared<Products>();
  for (int64_t group = 0; group < problem.groups; ++group) {
    const int64_t rows = problem.rows_of(group);
    if (rows > 0 && products->count(rows) == 0)
      products->emplace(rows, plan_product(problem, rows));
  }
  return products;
}

uint64_t largest_scratchpad(const Products& products) {
  uint64_t largest = 0;
  for (const auto& [rows, description] : products)
    largest = std::max(largest, scratchpad_bytes(description.get()));
  return largest;
}

// All calls of one copy of the operands, in the order of the groups. They share a scratchpad.
class LoopCall final : public OnednnCall {
 public:
  LoopCall(std::shared_ptr<const Products> products, const Operands& operands, int threads)
      : OnednnCall(threads),
        type_(operands.problem().precision.a),
        products_(std::move(products)),
        scratchpad_(largest_scratchpad(*products_)),
        calls_(operands.copies()) {
    for (const auto& [rows, description] : *products_)
      primitives_.emplace(rows, primitive_of(description.get()));
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      for (int64_t group = 0; group < operands.problem().groups; ++group)
        if (operands.problem().rows_of(group) > 0) add_call(operands, copy, group);
  }

  int run(uint64_t copy) override {
    for (const Call& call : calls_[copy]) {
      const int status =
          execute_(call.primitive, stream_, int(call.arguments.size()), call.arguments.data());
      if (status != dnnl_success) return status;
    }
    return dnnl_success;
  }

  void describe(plugin::Sink& sink) const override { describe_emulation(type_, sink); }

 private:
  struct Call {
    dnnl_primitive_t primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  void add_call(const Operands& operands, uint64_t copy, int64_t group) {
    const int64_t rows = operands.problem().rows_of(group);
    const const_dnnl_primitive_desc_t description = products_->at(rows).get();
    Call call = {primitives_.at(rows).get(), {}};
    const auto add = [&](int argument, dnnl_query_t which, void* data) {
      memories_.push_back(
          memory_at(Api::instance().primitive_desc_query_md_f(description, which, 0), data));
      call.arguments.push_back({argument, memories_.back().get()});
    };
    add(DNNL_ARG_SRC, dnnl_query_src_md, operands.a(copy, group));
    add(DNNL_ARG_WEIGHTS, dnnl_query_weights_md, operands.b(copy, group));
    add(DNNL_ARG_DST, dnnl_query_dst_md, operands.c(copy, group));
    add(DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, scratchpad_.data());
    calls_[copy].push_back(std::move(call));
  }

  const deepbench_type type_;
  const std::shared_ptr<const Products> products_;
  const Buffer scratchpad_;
  std::map<int64_t, Primitive> primitives_;
  std::vector<MemoryObject> memories_;
  std::vector<std::vector<Call>> calls_;  // one list for each copy
  decltype(&dnnl_primitive_execute) execute_ = Api::instance().primitive_execute_f;
  dnnl_stream_t stream_ = Api::instance().stream();
};

class LoopPlan final : public plugin::TypedPlan<LoopPlan, GroupedGemm> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static GroupedGemm parse(const plugin::Problem& problem) { return grouped_gemm_problem(problem); }

  LoopPlan(const GroupedGemm& problem, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(problem, options),
        threads_(thread_count(options.threads)),
        products_(plan_products(problem, threads_)),
        copies_(plan_copies(Operands::touched_bytes(problem), options)) {
    if (!candidate.empty()) require_candidate("onednn", {kLoop}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(library_name(),
                  "loop over " + std::to_string(problem_.groups_with_rows()) +
                      " groups: " + implementations(),
                  memory_bytes(), largest_scratchpad(*products_), sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLoop}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands =
        std::make_unique<Operands>(problem_, copies_, parse_inputs(options_.inputs), options_.seed);
    auto call = std::make_unique<LoopCall>(products_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Names each implementation once.
  std::string implementations() const {
    std::set<std::string> names;
    for (const auto& [rows, description] : *products_)
      names.insert(implementation_name(description.get()));
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  uint64_t memory_bytes() const {
    return saturating_add(Operands::needed_bytes(problem_, copies_),
                          largest_scratchpad(*products_));
  }

  const int threads_;
  const std::shared_ptr<const Products> products_;
  const CopyPlan copies_;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_grouped_gemm() { return implementation_of_plan<onednn::LoopPlan>(); }

}  // namespace deepbench::cpu
