// Divides the loops over operands among the workers of host_workers(). Only this file compiles
// these loops, with the options that they need.
#include "operand.hpp"

#include "deepbench/backend/host_fill.hpp"
#include "deepbench/backend/host_projection.hpp"
#include "deepbench/backend/host_scan.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {

void fill(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
          uint32_t stream) {
  plugin::fill(host_workers(), data, type, count, inputs, seed, stream);
}

void fill_parts(void* data, deepbench_type type, const std::vector<ElementRange>& parts,
                Inputs inputs, uint64_t seed, uint32_t stream) {
  plugin::fill_parts(host_workers(), data, type, parts, inputs, seed, stream);
}

void fill_floats(float* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream) {
  plugin::fill_floats(host_workers(), data, type, count, inputs, seed, stream);
}

void fill_integers(void* data, deepbench_type type, uint64_t count,
                   deepbench_small_integers integers, uint64_t seed, uint32_t stream) {
  plugin::fill_integers(host_workers(), data, type, count, integers, seed, stream);
}

void fill_parts_with_integers(void* data, deepbench_type type,
                              const std::vector<ElementRange>& parts,
                              deepbench_small_integers integers, uint64_t seed, uint32_t stream) {
  plugin::fill_parts_with_integers(host_workers(), data, type, parts, integers, seed, stream);
}

void scale(void* data, deepbench_type type, uint64_t count, float factor) {
  plugin::scale(host_workers(), data, type, count, factor);
}

void poison(void* data, deepbench_type type, uint64_t count) {
  plugin::poison(host_workers(), data, type, count);
}

deepbench_scan scan(const void* data, deepbench_type type, uint64_t count, const void* restored) {
  return plugin::scan(host_workers(), data, type, count, restored);
}

void project(const void* data, deepbench_type type, uint64_t count, uint64_t rows, uint64_t seed,
             double* sums) {
  plugin::project(host_workers(), data, type, count, rows, seed, sums);
}

}  // namespace deepbench::cpu
