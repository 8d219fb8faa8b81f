// Checks of the built-in kernels on operands, for a device and for the host that emulates it.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operand.hpp"

namespace deepbench::cuda_test {

using cuda::Inputs;
using cuda::Matrix;
using Bytes = std::vector<std::byte>;

// The place where the kernels run.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual std::byte* put(const Bytes& bytes) = 0;  // lives as long as the platform
  virtual Bytes get(const void* data, size_t bytes) = 0;

  virtual void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand) = 0;
  virtual void fill_integers(const Matrix& matrix, deepbench_small_integers integers, uint64_t seed,
                             uint32_t operand) = 0;
  virtual void poison(const Matrix& matrix) = 0;
  virtual deepbench_scan scan(const Matrix& matrix, const void* restored) = 0;
  virtual std::vector<double> project(const Matrix& matrix, uint64_t rows, uint64_t seed) = 0;
  virtual std::vector<double> read(const Matrix& matrix, const std::vector<uint64_t>& indices) = 0;
  virtual void transpose(const Matrix& from, const Matrix& to) = 0;
};

// Each check covers every type, in arrays and in matrices with several strides, and verifies that
// padding is untouched.
void check_fill(Platform& platform);
void check_integers(Platform& platform);
void check_constants(Platform& platform);
void check_poison_and_scan(Platform& platform);
void check_scan_in_place(Platform& platform);
void check_projection(Platform& platform);
void check_sums_repeat(Platform& platform);
void check_unsigned_words(Platform& platform);
void check_read(Platform& platform);
void check_transpose(Platform& platform);

}  // namespace deepbench::cuda_test
