// How oneDNN computes a recurrent layer: the primitives and the layouts of the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"
#include "onednn/api.hpp"
#include "onednn/row_plans.hpp"
#include "ops/rnn/operands.hpp"

namespace deepbench::cpu::onednn {

struct LayerPlan {
  LayerStorage storage;
  PrimitiveDesc forward;
  PrimitiveDesc backward;  // For phase=bwd, which needs a preceding forward pass.
  PrimitiveDesc
      alternatives;  // Of the default: oneDNN's further implementations of the timed pass.

  const_dnnl_primitive_desc_t timed_pass() const { return (backward ? backward : forward).get(); }
  // The memory of prepare() beyond the storage: scratchpads, the data that one pass leaves for the
  // other, weights in the problem's order and the weights of the forward pass.
  uint64_t bytes_beyond_storage() const;
};

// Throws plugin::Error: unsupported with oneDNN's reason, or invalid for an unknown candidate.
std::shared_ptr<const LayerPlan> plan_layer(const Rnn& rnn, const std::string& candidate,
                                            RowPlans<LayerPlan>& row);

// The ids that plan_layer accepts for this problem. The first one is oneDNN's default.
std::vector<std::string> layer_candidates(const Rnn& rnn, RowPlans<LayerPlan>& row);

// The description of a primitive's argument DNNL_ARG_...; nullptr if the primitive has no such
// argument.
const_dnnl_memory_desc_t argument_description(const_dnnl_primitive_desc_t primitive, int argument);

// Weights [gate][unit][j] in the problem's order, with `columns` columns j.
MemoryDesc problem_weights(const Rnn& rnn, int64_t columns, dnnl_data_type_t type);
// The same weights in the order [j][gate][unit].
MemoryDesc transposed_weights(const Rnn& rnn, int64_t columns, dnnl_data_type_t type);

// The arguments that are operands of the problem, and the other arguments.
struct OperandArgument {
  int argument;
  LayerPart part;
};
inline constexpr OperandArgument kOperandArguments[] = {
    {DNNL_ARG_SRC_LAYER, LayerPart::kX},          {DNNL_ARG_BIAS, LayerPart::kBias},
    {DNNL_ARG_SRC_ITER, LayerPart::kH0},          {DNNL_ARG_SRC_ITER_C, LayerPart::kC0},
    {DNNL_ARG_DST_LAYER, LayerPart::kY},          {DNNL_ARG_DIFF_DST_LAYER, LayerPart::kDy},
    {DNNL_ARG_DIFF_SRC_LAYER, LayerPart::kDx},    {DNNL_ARG_DIFF_SRC_ITER, LayerPart::kDh0},
    {DNNL_ARG_DIFF_WEIGHTS_ITER, LayerPart::kDu},
};
inline constexpr int kOtherArguments[] = {
    DNNL_ARG_DST_ITER,        DNNL_ARG_DST_ITER_C,         DNNL_ARG_WORKSPACE,
    DNNL_ARG_DIFF_SRC_ITER_C, DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_BIAS,
    DNNL_ARG_DIFF_DST_ITER,   DNNL_ARG_DIFF_DST_ITER_C,
};

}  // namespace deepbench::cpu::onednn
