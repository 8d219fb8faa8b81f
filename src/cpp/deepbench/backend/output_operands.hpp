// Operands whose output is one array in the backend's memory. Header-only, for backends.
//
// `Memory` is the backend's access to the arrays of one device. It has:
//   Array                                  where the elements of an array lie, such as a Matrix
//   scan(array, restored), project(array, rows, seed, sums), read(array, indices, count, values)
//                                          as Operands describes them; `restored` holds the values
//                                          of an output in place before a call, or is null
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "deepbench/backend/prepared_kernel.hpp"

namespace deepbench::plugin {

template <class Memory>
class OutputOperands : public Operands {
 public:
  deepbench_scan scan_output(uint64_t copy) const override {
    return memory_.scan(output(copy), restored());
  }
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const final {
    memory_.project(output(copy), rows, seed, sums);
  }
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const final {
    memory_.read(output(copy), indices, count, values);
  }

 protected:
  explicit OutputOperands(Memory memory = Memory()) : memory_(std::move(memory)) {}
  virtual typename Memory::Array output(uint64_t copy) const = 0;
  virtual const void* restored() const { return nullptr; }
  const Memory& memory() const { return memory_; }

 private:
  const Memory memory_;
};

}  // namespace deepbench::plugin
