// Selects candidates, layouts and attributes of oneDNN's matmul.
#include "ops/gemm/onednn_plan.hpp"

#include "deepbench/plugin.hpp"
#include "onednn/primitive_call.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {
namespace {

constexpr const char* kDefault = "matmul";

bool is_int8(const Gemm& gemm) { return gemm.precision.precision == Precision::kInt8; }

// oneDNN adds an existing C in float, which is not exact in int8.
bool adds_c(const Gemm& gemm) { return !is_int8(gemm) && !gemm.has_epilogue(); }

bool has_sgemm(const Gemm& gemm) {
  return gemm.precision.precision == Precision::kFloat && gemm.batch == 1 && !gemm.has_epilogue();
}

GemmCandidate parse_candidate(const std::string& id, const Gemm& gemm) {
  GemmCandidate candidate;
  if (id == kDefault) return candidate;
  if (id == "sgemm" && has_sgemm(gemm)) {
    candidate.sgemm = true;
  } else if (id == "matmul:packed" && gemm.batch == 1) {
    candidate.packed = true;
  } else if (id == "matmul:add" && adds_c(gemm)) {
    candidate.separate = true;
  } else {
    const std::string prefix = "matmul:";
    if (id.compare(0, prefix.size(), prefix) != 0 || id == prefix) reject_candidate("onednn", id);
    candidate.implementation = id.substr(prefix.size());
  }
  return candidate;
}

MemoryDesc plain_bias(int64_t batch, int64_t m, dnnl_data_type_t type) {
  if (batch == 1) return plain_matrix(1, m, m, 1, type);
  const Api& api = Api::instance();
  const dnnl_dims_t dimensions = {1, 1, m}, strides = {m, m, 1};
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, 3, dimensions, type, strides),
            "describing a bias");
  return MemoryDesc(made);
}

// oneDNN adds the whole matrix C in float before it rounds once to the result's type.
PostOps add_c(const GemmCandidate& candidate, const_dnnl_memory_desc_t c) {
  const Api& api = Api::instance();
  dnnl_post_ops_t made = nullptr;
  api.check(api.post_ops_create_f(&made), "creating post-operations");
  PostOps post_ops(made);
  if (candidate.separate)
    api.check(api.post_ops_append_binary_f(made, dnnl_binary_add, c), "adding C");
  else
    api.check(api.post_ops_append_sum_f(made, 1.0f, 0, dnnl_data_type_undef), "adding C");
  return post_ops;
}

// Applies the function that follows the sum of product and bias.
PostOps apply_function(Epilogue epilogue) {
  const Api& api = Api::instance();
  dnnl_post_ops_t made = nullptr;
  api.check(api.post_ops_create_f(&made), "creating post-operations");
  PostOps post_ops(made);
  const auto function = epilogue == Epilogue::kRelu ? dnnl_eltwise_relu : dnnl_eltwise_gelu_tanh;
  api.check(api.post_ops_append_eltwise_f(made, function, 0, 0), "adding the epilogue");
  return post_ops;
}

Attributes attributes_of(const Gemm& gemm, const GemmCandidate& candidate,
                         const_dnnl_memory_desc_t c) {
  const Api& api = Api::instance();
  Attributes attributes = strict_attributes();
  if (adds_c(gemm) || is_nonlinear(gemm.epilogue)) {
    const PostOps post_ops = adds_c(gemm) ? add_c(candidate, c) : apply_function(gemm.epilogue);
    api.check(api.primitive_attr_set_post_ops_f(attributes.get(), post_ops.get()),
              "adding post-operations");
  }
  return attributes;
}

void create_primitive_desc(const Gemm& gemm, GemmPlan& plan) {
  const Api& api = Api::instance();
  const auto a_type = data_type(plan.storage.a_type), b_type = data_type(gemm.b_type);
  const int64_t batch = gemm.batch;
  const MemoryDesc source = plain_matrices(batch, gemm.n, gemm.k, gemm.trans_b ? 1 : gemm.k,
                                           gemm.trans_b ? gemm.n : 1, b_type);
  plan.plain_a = plain_matrices(batch, gemm.k, gemm.m, gemm.trans_a ? 1 : gemm.m,
                                gemm.trans_a ? gemm.k : 1, a_type);
  const MemoryDesc any_a = any_matrix(gemm.k, gemm.m, a_type);
  const MemoryDesc result =
      plain_matrices(batch, gemm.n, gemm.m, gemm.m, 1, data_type(gemm.precision.c));
  // One element for a whole row of C, which is a column for oneDNN.
  MemoryDesc bias;
  if (gemm.has_epilogue()) bias = plain_bias(batch, gemm.m, data_type(gemm.precision.c));
  const Attributes attributes = attributes_of(gemm, plan.candidate, result.get());

  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api.matmul_primitive_desc_create_f(
      &made, api.engine(), source.get(), (plan.candidate.packed ? any_a : plan.plain_a).get(),
      bias.get(), result.get(), attributes.get());
  require_primitive(status, "matrix product", gemm.precision);
  plan.primitive.reset(made);
  const std::string& name = plan.candidate.implementation;
  if (!name.empty() && !advance_to_implementation(made, name))
    reject_candidate("onednn", "matmul:" + name);
}

GemmPlan make_plan(const Gemm& gemm, const std::string& id) {
  const Api& api = Api::instance();
  require_precision(gemm.precision.precision);
  GemmPlan plan;
  plan.candidate = parse_candidate(id, gemm);
  plan.storage.gemm = gemm;
  plan.storage.a_type = is_int8(gemm) && !api.has_exact_int8() ? DEEPBENCH_S7 : gemm.precision.a;
  plan.storage.output = !adds_c(gemm)             ? Output::kOverwrite
                        : plan.candidate.separate ? Output::kSeparate
                                                  : Output::kInPlace;
  if (plan.candidate.sgemm) return plan;
  create_primitive_desc(gemm, plan);
  const std::string implementation = implementation_name(plan.primitive.get());
  reject_too_slow(implementation, gemm.flops());
  if (is_int8(gemm)) reject_saturating(implementation);
  if (plan.candidate.packed)
    plan.storage.packed_a_bytes =
        api.memory_desc_get_size_f(plan.description(dnnl_query_weights_md));
  plan.scratchpad_bytes = scratchpad_bytes(plan.primitive.get());
  if (id == kDefault) detach_from_list(plan.primitive, plan.alternatives);
  return plan;
}

std::vector<std::string> list_candidates(const Gemm& gemm, RowPlans<GemmPlan>& row) {
  const Api& api = Api::instance();
  const auto first = plan_gemm(gemm, kDefault, row);
  std::vector<std::string> ids = {kDefault};
  const auto packed =
      gemm.batch > 1 ? std::nullopt
                     : plan_if_supported([&] { return plan_gemm(gemm, "matmul:packed", row); });
  if (packed && !api.memory_desc_equal_f((*packed)->plain_a.get(),
                                         (*packed)->description(dnnl_query_weights_md)))
    // An equal layout makes the candidate a duplicate of the default.
    ids.push_back("matmul:packed");
  if (has_sgemm(gemm)) ids.push_back("sgemm");
  if (adds_c(gemm)) ids.push_back("matmul:add");

  for (const std::string& name : alternative_implementations(first->alternatives.get())) {
    if (is_too_slow(name, gemm.flops())) break;
    if (!is_int8(gemm) || !is_saturating(name)) ids.push_back("matmul:" + name);
  }
  return ids;
}

}  // namespace

const_dnnl_memory_desc_t GemmPlan::description(dnnl_query_t which) const {
  return Api::instance().primitive_desc_query_md_f(primitive.get(), which, 0);
}

std::shared_ptr<const GemmPlan> plan_gemm(const Gemm& gemm, const std::string& candidate,
                                          RowPlans<GemmPlan>& row) {
  const std::string id = candidate.empty() ? kDefault : candidate;
  return row.plan(id, [&] { return make_plan(gemm, id); });
}

std::vector<std::string> gemm_candidates(const Gemm& gemm, RowPlans<GemmPlan>& row) {
  return row.candidates([&] { return list_candidates(gemm, row); });
}

}  // namespace deepbench::cpu::onednn
