// Sums and products through oneDNN's primitive binary. oneDNN computes swiglu only in its plain
// loops, as an eltwise followed by a product, and does not have rotary embeddings.
#include "deepbench/ops/elementwise/elementwise.hpp"
#include "implementation.hpp"
#include "onednn/array_map_plan.hpp"
#include "routes.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

dnnl_alg_kind_t function_of(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::kAdd:
      return dnnl_binary_add;
    case ElementwiseKind::kMultiply:
      return dnnl_binary_mul;
    case ElementwiseKind::kSwiglu:
      plugin::unsupported(
          "oneDNN has no fast kernel for swiglu; the built-in loop has one in float and "
          "bfloat16");
    case ElementwiseKind::kRotary:
      break;
  }
  plugin::unsupported(
      "oneDNN has no rotary embedding; the built-in loop has it in float and bfloat16");
}

struct OnednnElementwise {
  using Problem = Elementwise;

  static Elementwise parse(const plugin::Problem& problem) { return elementwise_problem(problem); }
  static uint64_t outputs(const Elementwise& elementwise) { return elementwise.elements(); }
  static MemoryDesc describe_operand(const Elementwise& elementwise) {
    const auto elements = int64_t(elementwise.elements());
    return plain_matrix(1, elements, elements, 1, data_type(elementwise.type()));
  }
  static PrimitiveDesc make_primitive(const Elementwise& elementwise,
                                      const_dnnl_memory_desc_t operand) {
    const Api& api = Api::instance();
    const Attributes attributes = strict_attributes();
    const dnnl_alg_kind_t function = function_of(elementwise.kind);
    return primitive_desc_or_unsupported(
        "elementwise work", elementwise.precision, [&](dnnl_primitive_desc_t* made) {
          return api.binary_primitive_desc_create_f(made, api.engine(), function, operand, operand,
                                                    operand, attributes.get());
        });
  }
  static std::string accumulator(const Elementwise&) { return ""; }
  static ArrayArguments arguments(const Elementwise&) {
    return {{DNNL_ARG_SRC_0, DNNL_ARG_SRC_1}, DNNL_ARG_DST};
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_elementwise() {
  return implementation_of_plan<onednn::ArrayMapPlan<onednn::OnednnElementwise>>();
}

}  // namespace deepbench::cpu
