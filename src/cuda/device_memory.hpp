// Implements a device's memory for the header-only parts of `deepbench/backend`: arrays, and the
// functions of verification. scan, project, read and time_calls wait for the device's stream; the
// other functions enqueue their work on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "buffer.hpp"
#include "operand.hpp"
#include "stream.hpp"
#include "timing.hpp"

namespace deepbench::cuda {

class DeviceMemory {
 public:
  using Copies = cuda::Copies;
  using Buffer = cuda::Buffer;
  using Array = Matrix;

  explicit DeviceMemory(Stream& stream) : stream_(stream) {}

  Stream& stream() const { return stream_; }
  int device() const { return stream_.device(); }

  Buffer allocate(uint64_t bytes) const { return Buffer(bytes); }
  Copies allocate(uint64_t bytes, uint64_t copies) const { return {bytes, copies}; }
  void make_current() const { stream_.make_current(); }
  void synchronize() const { stream_.synchronize(); }

  void fill(const Array& array, Inputs inputs, uint64_t seed, uint32_t operand) const {
    cuda::fill(array, inputs, seed, operand, stream_);
  }
  void fill_integers(const Array& array, deepbench_small_integers integers, uint64_t seed,
                     uint32_t operand) const {
    cuda::fill_integers(array, integers, seed, operand, stream_);
  }
  // Fills all elements, since a device does so in little time.
  void fill_parts(const Array& array, const std::vector<plugin::ElementRange>&, Inputs inputs,
                  uint64_t seed, uint32_t operand) const {
    fill(array, inputs, seed, operand);
  }
  void fill_parts_with_integers(const Array& array, const std::vector<plugin::ElementRange>&,
                                deepbench_small_integers integers, uint64_t seed,
                                uint32_t operand) const {
    fill_integers(array, integers, seed, operand);
  }
  void scale(const Array& array, float factor) const {
    cuda::scale(array.data, array.type, array.elements(), factor, stream_);
  }
  void transpose(const Array& from, const Array& to) const { cuda::transpose(from, to, stream_); }
  void clear(const Copies& copies) const { copies.clear(stream_); }
  void copy(std::byte* to, const std::byte* from, uint64_t bytes) const {
    copy_on_device(to, from, bytes, stream_);
  }
  void replicate(const Copies& copies) const { copies.replicate(stream_); }
  void overwrite(const Copies& copies, const std::byte* from) const {
    copies.overwrite(from, stream_);
  }

  // Times of one call of enqueue(copy) in ns, each the mean of a batch, measured like a kernel.
  std::vector<double> time_calls(const std::function<void(uint64_t copy)>& enqueue) const {
    return cuda::time_calls(stream_, enqueue);
  }

  void poison(const Array& array) const { cuda::poison(array, stream_); }
  deepbench_scan scan(const Array& array, const void* restored) const {
    return cuda::scan(array, restored, stream_);
  }
  void project(const Array& array, uint64_t rows, uint64_t seed, double* sums) const {
    cuda::project(array, rows, seed, sums, stream_);
  }
  void read(const Array& array, const uint64_t* indices, size_t count, double* values) const {
    cuda::read(array, indices, count, values, stream_);
  }

 private:
  Stream& stream_;  // the device's stream, which lives until the process ends
};

}  // namespace deepbench::cuda
