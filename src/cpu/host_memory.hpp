// Implements host memory for the headers of deepbench/backend: arrays, and the functions of
// verification. Every function has finished its work when it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "operand.hpp"

namespace deepbench::cpu {

class HostMemory {
 public:
  using Copies = cpu::Copies;
  using Buffer = cpu::Buffer;
  struct Array {
    void* data;
    deepbench_type type;
    uint64_t elements;
  };

  Copies allocate(uint64_t bytes, uint64_t copies) const { return {bytes, copies}; }
  Buffer allocate(uint64_t bytes) const { return Buffer(bytes); }
  void make_current() const {}
  void synchronize() const {}

  void fill(const Array& array, Inputs inputs, uint64_t seed, uint32_t operand) const;
  void fill_integers(const Array& array, deepbench_small_integers integers, uint64_t seed,
                     uint32_t operand) const;
  // Fills these parts only. The other parts take no memory from the system as long as nothing
  // writes to them.
  void fill_parts(const Array& array, const std::vector<ElementRange>& parts, Inputs inputs,
                  uint64_t seed, uint32_t operand) const;
  void fill_parts_with_integers(const Array& array, const std::vector<ElementRange>& parts,
                                deepbench_small_integers integers, uint64_t seed,
                                uint32_t operand) const;
  void scale(const Array& array, float factor) const;
  void copy(std::byte* to, const std::byte* from, uint64_t bytes) const;
  void replicate(const Copies& copies) const { copies.replicate(); }
  void overwrite(const Copies& copies, const std::byte* from) const { copies.overwrite(from); }

  void poison(const Array& array) const;
  deepbench_scan scan(const Array& array, const void* restored) const;
  void project(const Array& array, uint64_t rows, uint64_t seed, double* sums) const;
  void read(const Array& array, const uint64_t* indices, size_t count, double* values) const;
};

using ArrayOperands = plugin::OutputOperands<HostMemory>;

}  // namespace deepbench::cpu
