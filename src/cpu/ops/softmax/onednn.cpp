// Softmax and its gradient through oneDNN.
#include "deepbench/ops/softmax/softmax.hpp"
#include "implementation.hpp"
#include "onednn/array_map_plan.hpp"
#include "routes.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

constexpr int kColumns = 1;  // the dimension of a row

PrimitiveDesc forward(const Softmax& softmax, const_dnnl_memory_desc_t operand) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  return primitive_desc_or_unsupported(
      "softmax", softmax.precision, [&](dnnl_primitive_desc_t* made) {
        return api.softmax_forward_primitive_desc_create_f(
            made, api.engine(), dnnl_forward_inference, dnnl_softmax_accurate, operand, operand,
            kColumns, attributes.get());
      });
}

// A gradient from the operands alone needs no description of the forward pass.
PrimitiveDesc gradient(const Softmax& softmax, const_dnnl_memory_desc_t operand) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  return primitive_desc_or_unsupported("gradient of softmax", softmax.precision,
                                       [&](dnnl_primitive_desc_t* made) {
                                         return api.softmax_backward_primitive_desc_create_f(
                                             made, api.engine(), dnnl_softmax_accurate, operand,
                                             operand, operand, kColumns, nullptr, attributes.get());
                                       });
}

struct OnednnSoftmax {
  using Problem = Softmax;

  static Softmax parse(const plugin::Problem& problem) { return softmax_problem(problem); }
  static uint64_t outputs(const Softmax& softmax) { return softmax.elements(); }
  static MemoryDesc describe_operand(const Softmax& softmax) {
    return plain_matrix(softmax.rows, softmax.columns, softmax.columns, 1,
                        data_type(softmax.type()));
  }
  static PrimitiveDesc make_primitive(const Softmax& softmax, const_dnnl_memory_desc_t operand) {
    return softmax.is_forward ? forward(softmax, operand) : gradient(softmax, operand);
  }
  // oneDNN stores the exponentials of a row in the result before it divides them.
  static std::string accumulator(const Softmax& softmax) {
    return softmax.may_round_exponentials() ? Softmax::kRoundedExponentials : "";
  }
  static ArrayArguments arguments(const Softmax& softmax) {
    if (softmax.is_forward) return {{DNNL_ARG_SRC}, DNNL_ARG_DST};
    return {{DNNL_ARG_DST, DNNL_ARG_DIFF_DST}, DNNL_ARG_DIFF_SRC};
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_softmax() {
  return implementation_of_plan<onednn::ArrayMapPlan<onednn::OnednnSoftmax>>();
}

}  // namespace deepbench::cpu
