// The additional needs of oneDNN's 8-bit layers: scales and quantized weights.
#pragma once

#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

// S7 if the processor adds products in 16 bits, which saturate for the full range.
deepbench_type int8_weight_type();

// Sets the conversion of real numbers to integers, for a layer and for the reorder of its weights.
void set_scales(const Rnn& rnn, dnnl_primitive_attr_t attributes);

// Quantizes weights with `columns` columns j from the problem's order into a layer's layout. That
// layout also holds sums of the weights, which undo the states' shift. Returns the time of
// reorder(), in ns.
//
// It reorders to [j][gate][unit] first: oneDNN packs weights for AVX2 from either order, but for
// VNNI and AMX it quantizes only from this order and reports "unimplemented" for all others.
std::vector<double> quantize(const Rnn& rnn, int64_t columns, void* from,
                             const_dnnl_memory_desc_t to_description, void* to, int times);

}  // namespace deepbench::cpu::onednn
