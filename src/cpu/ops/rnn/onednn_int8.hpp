// What oneDNN's 8-bit layers need beside the others: scales, and weights that are quantised.
#pragma once

#include "deepbench/ops/rnn/rnn.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

// S7 where the processor sums products of the full range in 16 bits, which saturate.
deepbench_type int8_weight_type();

// How numbers become integers, for a layer and for the reorder of its weights.
void set_scales(const Rnn& rnn, dnnl_primitive_attr_t attributes);

// Quantises weights of `columns` j, ordered as the problem's, into a layer's layout, which holds
// sums of them, too, that undo the states' shift. Takes what reorder() says, in ns.
//
// By way of [j][gate][unit]: oneDNN packs weights for AVX2 from either order, but for the kernels
// of VNNI and AMX it quantises from this one alone, and calls anything else unimplemented.
double quantise(const Rnn& rnn, int64_t columns, void* from,
                const_dnnl_memory_desc_t to_description, void* to, int times);

}  // namespace deepbench::cpu::onednn
