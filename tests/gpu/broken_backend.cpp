// A backend whose kernels fail on purpose, to test how rows and runs handle it. The op is
// "memory", and its bytes select the fault; see kFaults.
#include <array>
#include <memory>
#include <string>

#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "kernel.hpp"
#include "kernels/jit.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void healthy(unsigned* word) { *word = 1; }
extern "C" __global__ void illegal_address(unsigned* word) {
  *reinterpret_cast<volatile unsigned*>(16ull << 40) = *word;
}
extern "C" __global__ void trap(unsigned*) { asm volatile("trap;"); }
extern "C" __global__ void hang(unsigned* word) {
  while (*reinterpret_cast<volatile unsigned*>(word) != 2) {
  }
}
)";
// bytes=4 selects the first fault, bytes=8 the second, and so on.
constexpr std::array<const char*, 6> kFaults = {"healthy", "illegal_address", "trap",
                                                "hang",    "out_of_memory",   "no_capture"};

class BrokenKernel final : public DeviceKernel, private DeviceCall {
 public:
  BrokenKernel(Stream& stream, const std::string& fault)
      : DeviceKernel(stream, {}), fault_(fault), word_(sizeof(uint32_t)) {
    if (fault_ == "out_of_memory") huge_ = Buffer(uint64_t{1} << 50);
    const std::string name = fault_ == "no_capture" ? "healthy" : fault_;
    function_ = &function_from_text("broken", kSource, name, stream);
    CUDA_CHECK(cudart().cudaMemsetAsync(word_.data(), 0, word_.bytes(), stream.get()));
  }

  void poison_outputs() override {}
  void read_output(uint32_t, const uint64_t*, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = 0;
  }
  void scan_output(uint32_t, deepbench_scan& scan) override { scan.count = 1; }
  void project_output(uint32_t, uint64_t rows, uint64_t, double* sums) override {
    for (uint64_t i = 0; i < rows; ++i) sums[i] = 0;
  }

 protected:
  DeviceCall& timed_call() override { return *this; }

 private:
  void enqueue(uint64_t) override {
    if (fault_ == "no_capture") CUDA_CHECK(cudart().cudaStreamSynchronize(stream()));
    function_->launch({}, stream(), static_cast<void*>(word_.data()));
  }

  std::string fault_;
  Buffer word_, huge_;
  const Function* function_ = nullptr;
};

class BrokenPlan final : public plugin::Plan {
 public:
  BrokenPlan(int device, const char* fault) : device_(device), fault_(fault) {}
  void describe(plugin::Sink& sink) const override {
    sink.text("library", "broken");
    sink.text("algorithm", fault_);
    sink.integer("memory_bytes", 4);
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    return std::make_unique<BrokenKernel>(Stream::of(device_), fault_);
  }

 private:
  const int device_;
  const char* const fault_;
};

class BrokenBackend final : public plugin::Backend {
 public:
  void describe(plugin::Sink& sink) override {
    sink.text("library.broken.version", "1");
    sink.text("library.broken.path", "none");
  }
  int32_t device_count() override { return cuda::device_count(); }
  void describe_device(int32_t device, plugin::Sink& sink) override {
    cuda::describe_device(device, sink);
  }
  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options& options) override {
    if (problem.op() != "memory") plugin::unsupported("this backend supports only memory");
    const auto number = size_t(problem.integer("bytes") / 4 - 1);
    if (number >= kFaults.size()) plugin::unsupported("bytes selects no fault");
    return std::make_unique<BrokenPlan>(options.device, kFaults[number]);
  }
};

}  // namespace
}  // namespace deepbench::cuda

DEEPBENCH_PLUGIN(deepbench::cuda::BrokenBackend, "broken")
