// Operations on whole operands, on all cores: those of deepbench/backend/host_fill.hpp,
// host_scan.hpp and host_projection.hpp with the workers of host_workers().
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/backend/host_elements.hpp"
#include "deepbench/backend/inputs.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.h"

namespace deepbench::cpu {

using plugin::element;
using plugin::ElementRange;
using plugin::Inputs;
using plugin::parse_inputs;

void fill(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
          uint32_t stream);
void fill_parts(void* data, deepbench_type type, const std::vector<ElementRange>& parts,
                Inputs inputs, uint64_t seed, uint32_t stream);
void fill_floats(float* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream);
void fill_integers(void* data, deepbench_type type, uint64_t count,
                   deepbench_small_integers integers, uint64_t seed, uint32_t stream);
void fill_parts_with_integers(void* data, deepbench_type type,
                              const std::vector<ElementRange>& parts,
                              deepbench_small_integers integers, uint64_t seed, uint32_t stream);
void scale(void* data, deepbench_type type, uint64_t count, float factor);
void poison(void* data, deepbench_type type, uint64_t count);
deepbench_scan scan(const void* data, deepbench_type type, uint64_t count,
                    const void* restored = nullptr);
void project(const void* data, deepbench_type type, uint64_t count, uint64_t rows, uint64_t seed,
             double* sums);

}  // namespace deepbench::cpu
