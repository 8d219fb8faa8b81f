// The mutants of tests/cpp/mutants with their outputs in the memory of a device, where the CUDA
// backend poisons, scans, reads and projects them. A program of its own: without a device it says
// so and tests nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "../cpp/cuda/gpu.hpp"
#include "../cpp/mutants/output_memory.hpp"
#include "../cpp/paths.hpp"
#include "device_memory.hpp"
#include "status_check.hpp"

namespace deepbench::testing {
namespace {

template <class T>
void store_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void store(std::byte* to, deepbench_type type, double value) {
  switch (type) {
    case DEEPBENCH_F32:
      return store_as(to, float(value));
    case DEEPBENCH_F16:
      return store_as(to, deepbench_to_half(float(value)));
    case DEEPBENCH_BF16:
      return store_as(to, deepbench_to_bfloat16(float(value)));
    case DEEPBENCH_S8:
      return store_as(to, int8_t(value));
    case DEEPBENCH_S32:
      return store_as(to, uint32_t(int64_t(value)));
    default:
      throw std::invalid_argument("no mutant has outputs of this type");
  }
}

class DeviceOutputMemory final : public OutputMemory {
 public:
  explicit DeviceOutputMemory(const Outputs& like)
      : matrix_{nullptr, like.type, like.values.size()},
        output_(bytes()),
        initial_(bytes()),
        memory_(cuda::Stream::of(0)) {
    matrix_.data = output_.data();
    // The words of memory are unsigned; integers of other operations are smaller.
    for (const double value : like.values) matrix_.unsigned_words |= value > INT32_MAX;
    poison();
  }

  void poison() override {
    is_restored_ = false;
    memory_.poison(matrix_);
  }
  void restore(const std::vector<double>& initial) override {
    is_restored_ = true;
    std::vector<std::byte> image(bytes());
    for (size_t i = 0; i < initial.size(); ++i) store_element(image, i, initial[i]);
    move(initial_.data(), image.data(), nvidia::cudaMemcpyHostToDevice);
    memory_.copy(output_.data(), initial_.data(), bytes());
  }
  void write(const Outputs& outputs) override {
    std::vector<std::byte> image(bytes());
    move(image.data(), output_.data(), nvidia::cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < outputs.values.size(); ++i)
      if (outputs.writes(i)) store_element(image, i, outputs.values[i]);
    move(output_.data(), image.data(), nvidia::cudaMemcpyHostToDevice);
  }

  void read(const uint64_t* indices, size_t count, double* values) override {
    memory_.read(matrix_, indices, count, values);
  }
  void scan(deepbench_scan& scan) override {
    scan = memory_.scan(matrix_, is_restored_ ? initial_.data() : nullptr);
  }
  void project(uint64_t rows, uint64_t seed, double* sums) override {
    memory_.project(matrix_, rows, seed, sums);
  }

 private:
  size_t element_bytes() const { return size_t(size_of(matrix_.type)); }
  size_t bytes() const { return matrix_.elements() * element_bytes(); }

  void store_element(std::vector<std::byte>& image, size_t i, double value) const {
    store(&image[i * element_bytes()], matrix_.type, value);
  }
  void move(void* to, const void* from, nvidia::cudaMemcpyKind kind) {
    CUDA_CHECK(cuda::cudart().cudaMemcpyAsync(to, from, bytes(), kind, memory_.stream().get()));
    memory_.synchronize();
  }

  cuda::Matrix matrix_;
  const cuda::Buffer output_, initial_;
  const cuda::DeviceMemory memory_;
  bool is_restored_ = false;
};

}  // namespace
}  // namespace deepbench::testing

int main(int argc, char** argv) {
  const std::string& reason = deepbench::cuda_test::gpu_unavailable_reason();
  if (!reason.empty()) {
    std::printf("nothing tested: %s\n", reason.c_str());
    return 0;
  }
  const std::string kernels = deepbench::testing::stage_folder() + std::string("/deepbench_cuda");
  setenv("DEEPBENCH_CUDA_KERNELS", kernels.c_str(), 0);
  deepbench::testing::OutputMemory::make = [](const deepbench::testing::Outputs& like) {
    return std::make_unique<deepbench::testing::DeviceOutputMemory>(like);
  };
  return doctest::Context(argc, argv).run();
}
