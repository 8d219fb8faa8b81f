// The built-in kernels on operands, run by a device, and their durations for the largest operands
// of a suite.
#include "operand.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "deepbench/core/precision.hpp"
#include "gpu.hpp"
#include "operand_checks.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::Buffer;
using cuda::Stream;

class DevicePlatform final : public Platform {
 public:
  std::byte* put(const Bytes& bytes) override {
    arrays_.emplace_back(bytes.size());
    move(arrays_.back().data(), bytes.data(), bytes.size(), nvidia::cudaMemcpyHostToDevice);
    return arrays_.back().data();
  }
  Bytes get(const void* data, size_t bytes) override {
    Bytes copy(bytes);
    move(copy.data(), data, bytes, nvidia::cudaMemcpyDeviceToHost);
    return copy;
  }
  void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand) override {
    cuda::fill(matrix, inputs, seed, operand, stream_);
  }
  void fill_integers(const Matrix& matrix, deepbench_small_integers integers, uint64_t seed,
                     uint32_t operand) override {
    cuda::fill_integers(matrix, integers, seed, operand, stream_);
  }
  void poison(const Matrix& matrix) override { cuda::poison(matrix, stream_); }
  deepbench_scan scan(const Matrix& matrix, const void* restored) override {
    return cuda::scan(matrix, restored, stream_);
  }
  std::vector<double> project(const Matrix& matrix, uint64_t rows, uint64_t seed) override {
    std::vector<double> sums(rows);
    cuda::project(matrix, rows, seed, sums.data(), stream_);
    return sums;
  }
  std::vector<double> read(const Matrix& matrix, const std::vector<uint64_t>& indices) override {
    std::vector<double> values(indices.size());
    cuda::read(matrix, indices.data(), indices.size(), values.data(), stream_);
    return values;
  }
  void transpose(const Matrix& from, const Matrix& to) override {
    cuda::transpose(from, to, stream_);
  }
  const Stream& stream() const { return stream_; }

 private:
  void move(void* to, const void* from, size_t bytes, nvidia::cudaMemcpyKind kind) {
    CUDA_CHECK(cuda::cudart().cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
    stream_.synchronize();
  }

  const Stream& stream_ = Stream::of(0);
  std::vector<Buffer> arrays_;
};

TEST_CASE("gpu: fill is correct") {
  REQUIRE_GPU();
  DevicePlatform device;
  check_fill(device);
  check_integers(device);
  check_constants(device);
}

TEST_CASE("gpu: poison and scan are correct") {
  REQUIRE_GPU();
  DevicePlatform device;
  check_poison_and_scan(device);
  check_scan_in_place(device);
}

TEST_CASE("gpu: project is correct") {
  REQUIRE_GPU();
  DevicePlatform device;
  check_projection(device);
  check_sums_repeat(device);
  check_unsigned_words(device);
}

TEST_CASE("gpu: reading operands is correct") {
  REQUIRE_GPU();
  DevicePlatform device;
  check_read(device);
}

TEST_CASE("gpu: transpose is correct") {
  REQUIRE_GPU();
  DevicePlatform device;
  check_transpose(device);
}

// Returns the duration of the second call in milliseconds, because the first may load and allocate.
template <class Work>
double time_ms(const Stream& stream, Work work) {
  double elapsed = 0;
  for (int i = 0; i < 2; ++i) {
    stream.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    work();
    stream.synchronize();
    elapsed =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  return elapsed;
}

TEST_CASE("gpu: verifying a large output takes less than 5 ms") {
  REQUIRE_GPU();
  const Stream& stream = Stream::of(0);
  const uint64_t rows = 3072, columns = 7000;
  for (const deepbench_type type : {DEEPBENCH_F16, DEEPBENCH_F32, DEEPBENCH_S32}) {
    const Buffer buffer(rows * columns * uint64_t(size_of(type)));
    const Matrix matrix = {buffer.data(), type, rows, columns, 1, rows};
    std::vector<double> sums(rows), values(1024);
    std::vector<uint64_t> indices(1024, 7);
    const double fill =
        time_ms(stream, [&] { cuda::fill(matrix, Inputs::kUniform, 1, 0, stream); });
    const double scan = time_ms(stream, [&] { cuda::scan(matrix, nullptr, stream); });
    const double project =
        time_ms(stream, [&] { cuda::project(matrix, rows, 1, sums.data(), stream); });
    const double read =
        time_ms(stream, [&] { cuda::read(matrix, indices.data(), 1024, values.data(), stream); });
    MESSAGE("3072 x 7000 of " << size_of(type) << " bytes, ms: fill " << fill << ", scan " << scan
                              << ", project " << project << ", read " << read);
    CHECK(scan + project + read < 5);
  }
}

TEST_CASE("gpu: transposing runs near the bandwidth of memory") {
  REQUIRE_GPU();
  const Stream& stream = Stream::of(0);
  const uint64_t rows = 512, columns = 500000;
  for (const deepbench_type type : {DEEPBENCH_S8, DEEPBENCH_F16, DEEPBENCH_F32}) {
    const uint64_t bytes = rows * columns * uint64_t(size_of(type));
    const Buffer from(bytes), to(bytes);
    const Matrix source = {from.data(), type, rows, columns, 1, rows};
    const Matrix target = {to.data(), type, columns, rows, 1, columns};
    cuda::fill(source, Inputs::kUniform, 1, 0, stream);
    const double elapsed = time_ms(stream, [&] { cuda::transpose(source, target, stream); });
    MESSAGE("512 x 500000 of " << size_of(type) << " bytes: " << elapsed << " ms, "
                               << 2e-9 * double(bytes) / elapsed << " TB/s");
    CHECK(elapsed < 50);
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
