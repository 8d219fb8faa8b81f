// Reads, writes and copies within a device's memory, and transfers between device and host: the
// ceilings of work that is bound by memory or cache. Uses built-in kernels and functions of the
// CUDA runtime and driver.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/memory_checks.hpp"
#include "deepbench/ops/memory/memory.hpp"
#include "device.hpp"
#include "implementation.hpp"
#include "kernels/jit.hpp"
#include "libraries.hpp"
#include "operand.hpp"
#include "ops/memory/exchange.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using HostCopies = plugin::Copies<HostBuffer, 4096, 4096>;  // allocated in whole pages

constexpr const char* kKernel = "kernel";      // a built-in kernel
constexpr const char* kMemcpy = "memcpy";      // a function of the CUDA runtime
constexpr const char* kMemset = "memset";      // a function of the driver
constexpr const char* kPinned = "pinned";      // page-locked host memory
constexpr const char* kPageable = "pageable";  // other host memory

constexpr uint32_t kThreads = 512;  // per block; two blocks use all registers of a multiprocessor
constexpr uint64_t kBlocksPerMultiprocessor = 2;
constexpr uint64_t kWordsPerVector = 4;
constexpr auto kPoison = static_cast<uint32_t>(DEEPBENCH_POISON_INTEGER);

bool crosses_bus(const Memory& memory) {
  return memory.kind == MemoryKind::kHostToDevice || memory.kind == MemoryKind::kDeviceToHost;
}

// The number of arrays of memory.bytes on the device for one copy. For host memory, the device has
// one staging array to fill and to inspect it.
uint64_t device_arrays(const Memory& memory) {
  return memory.kind == MemoryKind::kCopy || memory.kind == MemoryKind::kExchange ? 2 : 1;
}
uint64_t staging_arrays(const Memory& memory) { return crosses_bus(memory) ? 1 : 0; }

uint64_t needed_bytes(const Memory& memory, const plugin::CopyPlan& plan) {
  const auto bytes = uint64_t(memory.bytes);
  uint64_t total = plan.flush_bytes;
  for (uint64_t i = 0; i < device_arrays(memory); ++i)
    total = saturating_add(total, Copies::needed_bytes(bytes, plan.copies));
  return saturating_add(total, staging_arrays(memory) * bytes);
}

Matrix matrix_of(void* data, uint64_t words) {
  Matrix matrix;
  matrix.data = data;
  matrix.type = DEEPBENCH_S32;
  matrix.rows = words;
  matrix.unsigned_words = true;
  return matrix;
}

class MemoryKernel final : public DeviceKernel, private DeviceCall {
 public:
  MemoryKernel(const Memory& memory, const plugin::CopyPlan& copies, Stream& stream,
               const std::string& method, const std::optional<ExchangePlan>& exchange,
               const plugin::Options& options)
      : DeviceKernel(stream, copies),
        memory_(memory),
        method_(method),
        pattern_(write_pattern(options.seed)),
        fill_(function("memory", "fill_words", stream)),
        move_(function("memory",
                       memory.kind == MemoryKind::kRead    ? "read_words"
                       : memory.kind == MemoryKind::kWrite ? "write_words"
                                                           : "copy_words",
                       stream)),
        blocks_(blocks_for(stream)),
        staging_(staging_arrays(memory) * bytes()),
        host_(crosses_bus(memory) ? HostCopies(bytes(), copies.copies, method == kPageable)
                                  : HostCopies()) {
    if (memory.kind != MemoryKind::kHostToDevice && memory.kind != MemoryKind::kWrite)
      source_ = Copies(bytes(), copies.copies);
    if (memory.kind != MemoryKind::kDeviceToHost && memory.kind != MemoryKind::kRead)
      destination_ = Copies(bytes(), copies.copies);
    if (memory.kind == MemoryKind::kRead) partial_ = Buffer(blocks_ * sizeof(uint32_t));
    if (exchange) exchange_.emplace(memory, *exchange, options.seed, stream);
    fill_sources(options);
    MemoryKernel::poison_outputs();
  }

  void describe(plugin::Sink& sink) const override {
    DeviceKernel::describe(sink);
    if (exchange_) exchange_->describe(sink);
  }

  void poison_outputs() override {
    device_stream().make_current();
    if (memory_.kind == MemoryKind::kRead) {
      poison(matrix_of(partial_.data(), blocks_), device_stream());
    } else if (memory_.kind == MemoryKind::kDeviceToHost) {
      poison(matrix_of(staging_.data(), words()), device_stream());
      for (uint64_t copy = 0; copy < host_.count(); ++copy)
        transfer(host_.at(copy), staging_.data(), nvidia::cudaMemcpyDeviceToHost);
    } else {
      for (uint64_t copy = 0; copy < destination_.count(); ++copy)
        poison(matrix_of(destination_.at(copy), words()), device_stream());
    }
    device_stream().synchronize();
  }

  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    device_stream().make_current();
    if (memory_.kind != MemoryKind::kRead)
      return cuda::read(output(), indices, count, values, device_stream());
    for (size_t i = 0; i < count; ++i) {
      if (indices[i] != 0)
        plugin::invalid("read_output: word " + std::to_string(indices[i]) + " of 1");
      values[i] = xor_of_all_words();
    }
  }

  // Data words are even, so the odd poison never occurs as data.
  void scan_output(uint32_t, deepbench_scan& found) override {
    device_stream().make_current();
    if (memory_.kind == MemoryKind::kRead)
      found = {sizeof found, 1, xor_of_all_words() == kPoison, 0};
    else
      found = scan(output(), nullptr, device_stream());
  }

  void project_output(uint32_t, uint64_t rows, uint64_t seed, double* sums) override {
    device_stream().make_current();
    if (memory_.kind != MemoryKind::kRead)
      return project(output(), rows, seed, sums, device_stream());
    if (rows != 1) plugin::invalid("project_output: 1 output is not a matrix of several rows");
    sums[0] = double(xor_of_all_words()) * deepbench_weight(seed, 0);
  }

 protected:
  DeviceCall& timed_call() override { return *this; }

 private:
  void enqueue(uint64_t copy) override {
    switch (memory_.kind) {
      case MemoryKind::kRead:
        return move_.launch(launch_shape(), stream(), static_cast<const void*>(source_.at(copy)),
                            words(), static_cast<void*>(partial_.data()));
      case MemoryKind::kWrite:
        return enqueue_pattern_write(destination_.at(copy));
      case MemoryKind::kCopy:
        if (method_ == kMemcpy)
          return transfer(destination_.at(copy), source_.at(copy),
                          nvidia::cudaMemcpyDeviceToDevice);
        return move_.launch(launch_shape(), stream(), static_cast<void*>(destination_.at(copy)),
                            static_cast<const void*>(source_.at(copy)), words());
      case MemoryKind::kHostToDevice:
        return transfer(destination_.at(copy), host_.at(copy), nvidia::cudaMemcpyHostToDevice);
      case MemoryKind::kDeviceToHost:
        return transfer(host_.at(copy), source_.at(copy), nvidia::cudaMemcpyDeviceToHost);
      case MemoryKind::kExchange:
        return exchange_->enqueue(source_.at(copy), destination_.at(copy));
    }
  }

  uint64_t bytes() const { return uint64_t(memory_.bytes); }
  uint64_t words() const { return uint64_t(memory_.words()); }

  uint64_t blocks_for(const Stream& stream) const {
    const uint64_t useful = (words() / kWordsPerVector + kThreads - 1) / kThreads;
    const auto multiprocessors = uint64_t(device_facts(stream.device()).multiprocessors);
    return std::clamp<uint64_t>(useful, 1, kBlocksPerMultiprocessor * multiprocessors);
  }

  LaunchShape launch_shape() const {
    LaunchShape shape;
    shape.grid_x = uint32_t(blocks_);
    shape.block_x = kThreads;
    return shape;
  }

  void transfer(void* to, const void* from, nvidia::cudaMemcpyKind direction) const {
    CUDA_CHECK(cudart().cudaMemcpyAsync(to, from, bytes(), direction, stream()));
  }

  void enqueue_pattern_write(std::byte* to) const {
    if (method_ == kMemset)
      CUDA_CHECK(driver().cuMemsetD32Async(reinterpret_cast<nvidia::CUdeviceptr>(to), pattern_,
                                           words(), stream()));
    else
      move_.launch(launch_shape(), stream(), static_cast<void*>(to), words(), pattern_);
  }

  void fill_array(std::byte* data, const plugin::Options& options) const {
    const Inputs inputs = parse_inputs(options.inputs);
    fill_.launch(launch_shape(), stream(), static_cast<void*>(data), words(),
                 uint32_t(inputs == Inputs::kUniform), uint32_t(inputs == Inputs::kOnes),
                 options.seed);
  }

  void fill_sources(const plugin::Options& options) {
    for (uint64_t copy = 0; copy < source_.count(); ++copy) fill_array(source_.at(copy), options);
    if (memory_.kind != MemoryKind::kHostToDevice) return;
    fill_array(staging_.data(), options);
    for (uint64_t copy = 0; copy < host_.count(); ++copy)
      transfer(host_.at(copy), staging_.data(), nvidia::cudaMemcpyDeviceToHost);
  }

  // The output of the last call, in memory that kernels can access.
  Matrix output() {
    if (memory_.kind != MemoryKind::kDeviceToHost)
      return matrix_of(destination_.at(last_copy()), words());
    transfer(staging_.data(), host_.at(last_copy()), nvidia::cudaMemcpyHostToDevice);
    return matrix_of(staging_.data(), words());
  }

  // The output of a read, combined from the words of its blocks. It is the poison if any block
  // wrote nothing.
  uint32_t xor_of_all_words() const {
    std::vector<uint64_t> indices(blocks_);
    std::iota(indices.begin(), indices.end(), uint64_t{0});
    std::vector<double> found(blocks_);
    cuda::read(matrix_of(partial_.data(), blocks_), indices.data(), blocks_, found.data(),
               device_stream());
    uint32_t total = 0;
    for (const double value : found) {
      const auto word = static_cast<uint32_t>(value);
      if (word == kPoison) return kPoison;
      total ^= word;
    }
    return total;
  }

  const Memory memory_;
  const std::string method_;
  const uint32_t pattern_;
  const Function &fill_, &move_;
  const uint64_t blocks_;
  Copies source_, destination_;
  Buffer staging_;
  HostCopies host_;
  Buffer partial_;  // one word from each block of a read
  std::optional<ExchangeCall> exchange_;
};

class RuntimeMemoryPlan final : public plugin::TypedPlan<RuntimeMemoryPlan, Memory> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudart>(); }
  static Memory parse(const plugin::Problem& problem) { return memory_problem(problem); }

  RuntimeMemoryPlan(const Memory& memory, const plugin::Options& options,
                    const std::string& candidate)
      : TypedPlan(memory, options),
        exchange_(planned_exchange(memory, options)),
        method_(candidate.empty() ? candidates(0).front() : candidate),
        copies_(plan_copies(uint64_t(memory.traffic()), options)) {
    require_built_in_kernels("memory");
    parse_inputs(options.inputs);
    require_candidate("runtime", candidates(0), method_);
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = exchange_ ? exchange_->mailbox_bytes + exchange_->weight_bytes : 0;
    describe_plan("runtime", method_, saturating_add(needed_bytes(problem_, copies_), workspace),
                  workspace, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    if (exchange_) return {exchange_->scope};
    return methods(problem_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return std::make_unique<MemoryKernel>(problem_, copies_, Stream::of(options_.device), method_,
                                          exchange_, options_);
  }

 private:
  static std::optional<ExchangePlan> planned_exchange(const Memory& memory,
                                                      const plugin::Options& options) {
    if (memory.kind != MemoryKind::kExchange) return {};
    plugin::require_hot_exchange(memory, options);
    require_built_in_kernels("memory");
    return exchange_plan(memory, device_facts(options.device));
  }
  static std::vector<std::string> methods(const Memory& memory) {
    switch (memory.kind) {
      case MemoryKind::kRead:
        return {kKernel};
      case MemoryKind::kWrite:
        if (driver().cuMemsetD32Async) return {kKernel, kMemset};
        return {kKernel};
      case MemoryKind::kCopy:
        return {kMemcpy, kKernel};
      default:
        return {kPinned, kPageable};
    }
  }

  const std::optional<ExchangePlan> exchange_;
  const std::string method_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& runtime_memory() { return implementation_of_plan<RuntimeMemoryPlan>(); }

}  // namespace deepbench::cuda
