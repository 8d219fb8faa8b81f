// Applies the functions on operands to arrays.
#include "host_memory.hpp"

#include <algorithm>

#include "deepbench/backend/output_checks.hpp"

namespace deepbench::cpu {

void HostMemory::fill(const Array& array, Inputs inputs, uint64_t seed, uint32_t operand) const {
  cpu::fill(array.data, array.type, array.elements, inputs, seed, operand);
}

void HostMemory::fill_integers(const Array& array, deepbench_small_integers integers, uint64_t seed,
                               uint32_t operand) const {
  cpu::fill_integers(array.data, array.type, array.elements, integers, seed, operand);
}

void HostMemory::fill_parts(const Array& array, const std::vector<ElementRange>& parts,
                            Inputs inputs, uint64_t seed, uint32_t operand) const {
  cpu::fill_parts(array.data, array.type, parts, inputs, seed, operand);
}

void HostMemory::fill_parts_with_integers(const Array& array,
                                          const std::vector<ElementRange>& parts,
                                          deepbench_small_integers integers, uint64_t seed,
                                          uint32_t operand) const {
  cpu::fill_parts_with_integers(array.data, array.type, parts, integers, seed, operand);
}

void HostMemory::scale(const Array& array, float factor) const {
  cpu::scale(array.data, array.type, array.elements, factor);
}

void HostMemory::copy(std::byte* to, const std::byte* from, uint64_t bytes) const {
  std::copy(from, from + bytes, to);
}

void HostMemory::poison(const Array& array) const {
  cpu::poison(array.data, array.type, array.elements);
}

deepbench_scan HostMemory::scan(const Array& array, const void* restored) const {
  return cpu::scan(array.data, array.type, array.elements, restored);
}

void HostMemory::project(const Array& array, uint64_t rows, uint64_t seed, double* sums) const {
  cpu::project(array.data, array.type, array.elements, rows, seed, sums);
}

void HostMemory::read(const Array& array, const uint64_t* indices, size_t count,
                      double* values) const {
  for (size_t i = 0; i < count; ++i) {
    plugin::require_element(indices[i], array.elements);
    values[i] = element(array.data, array.type, indices[i]);
  }
}

}  // namespace deepbench::cpu
