// Pads and transposes operands so that the built-in kernels can read vectors.
#include "ops/gemm/skinny_layout.hpp"

#include "kernels/skinny_mma.h"

namespace deepbench::cuda {

using plugin::GemmLayout;

GemmLayout skinny_layout(const Gemm& problem, const plugin::Options& options) {
  GemmLayout layout = plugin::layout_along_k(problem, options, /*in_place=*/false);
  if (!plugin::can_pad(problem, options)) return layout;
  layout.executed.k = plugin::round_up(problem.k, plugin::kTensorCoreGrain);
  if (layout.is_padded())
    layout.padding_rule = "k to multiples of 16, so that rows are aligned to vectors";
  return layout;
}

GemmLayout skinny_mma_layout(const Gemm& problem, const plugin::Options& options) {
  GemmLayout layout = plugin::unpadded_layout("plain", problem, /*in_place=*/false);
  layout.executed.trans_b = false;
  layout.b = plugin::choose_conversion(problem.trans_b, false, options.is_constant("b"));
  if (!plugin::can_pad(problem, options)) return layout;
  layout.executed.m = plugin::round_up(problem.m, SKINNY_MMA_GRAIN),
  layout.executed.k = plugin::round_up(problem.k, SKINNY_MMA_GRAIN);
  if (layout.is_padded())
    layout.padding_rule = "m and k to multiples of 8, so that columns are aligned to vectors";
  return layout;
}

}  // namespace deepbench::cuda
