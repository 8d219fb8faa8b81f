// Activations and their gradients through oneDNN's primitive eltwise.
#include "deepbench/ops/activation/activation.hpp"
#include "implementation.hpp"
#include "onednn/array_map_plan.hpp"
#include "routes.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

// The gradients of sigmoid and tanh start from the output; oneDNN has separate kinds for them.
dnnl_alg_kind_t kind_of(const Activation& activation) {
  switch (activation.kind) {
    case ActivationKind::kGelu:
      return dnnl_eltwise_gelu_erf;
    case ActivationKind::kSilu:
      return dnnl_eltwise_swish;
    case ActivationKind::kSigmoid:
      return activation.is_forward ? dnnl_eltwise_logistic : dnnl_eltwise_logistic_use_dst_for_bwd;
    case ActivationKind::kTanh:
      return activation.is_forward ? dnnl_eltwise_tanh : dnnl_eltwise_tanh_use_dst_for_bwd;
    case ActivationKind::kRelu:
      break;
  }
  return dnnl_eltwise_relu;
}

// The slope of relu below zero, and the factor within silu's exponential.
float alpha_of(const Activation& activation) {
  return activation.kind == ActivationKind::kSilu ? 1.0f : 0.0f;
}

constexpr float kBeta = 0;  // no kind above has a second parameter

PrimitiveDesc forward(const Activation& activation, const_dnnl_memory_desc_t operand) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  return primitive_desc_or_unsupported(
      "activation", activation.precision, [&](dnnl_primitive_desc_t* made) {
        return api.eltwise_forward_primitive_desc_create_f(
            made, api.engine(), dnnl_forward_inference, kind_of(activation), operand, operand,
            alpha_of(activation), kBeta, attributes.get());
      });
}

// A gradient that only reads its operands needs no description of the forward pass.
PrimitiveDesc gradient(const Activation& activation, const_dnnl_memory_desc_t operand) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  return primitive_desc_or_unsupported(
      "gradient of an activation", activation.precision, [&](dnnl_primitive_desc_t* made) {
        return api.eltwise_backward_primitive_desc_create_f(
            made, api.engine(), kind_of(activation), operand, operand, operand,
            alpha_of(activation), kBeta, nullptr, attributes.get());
      });
}

struct OnednnActivation {
  using Problem = Activation;

  static Activation parse(const plugin::Problem& problem) { return activation_problem(problem); }
  static uint64_t outputs(const Activation& activation) { return activation.elements; }
  static MemoryDesc describe_operand(const Activation& activation) {
    const auto elements = int64_t(activation.elements);
    return plain_matrix(1, elements, elements, 1, data_type(activation.type()));
  }
  static PrimitiveDesc make_primitive(const Activation& activation,
                                      const_dnnl_memory_desc_t operand) {
    return activation.is_forward ? forward(activation, operand) : gradient(activation, operand);
  }
  static std::string accumulator(const Activation&) { return ""; }
  static ArrayArguments arguments(const Activation& activation) {
    if (activation.is_forward) return {{DNNL_ARG_SRC}, DNNL_ARG_DST};
    const int saved = activation.gradient_takes_output() ? DNNL_ARG_DST : DNNL_ARG_SRC;
    return {{saved, DNNL_ARG_DIFF_DST}, DNNL_ARG_DIFF_SRC};
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_activation() {
  return implementation_of_plan<onednn::ArrayMapPlan<onednn::OnednnActivation>>();
}

}  // namespace deepbench::cpu
