// A prepared matrix product, whatever the library: its operands and its one call.
#pragma once

#include <memory>
#include <string>

#include "kernel.hpp"
#include "ops/gemm/operands.hpp"

namespace deepbench::cuda {

// The library's part of a kernel.
class GemmCall {
 public:
  virtual ~GemmCall() = default;

  // Gives one product of this copy of the operands to the stream; within captures too.
  virtual void enqueue(const GemmOperands& operands, uint64_t copy) = 0;

  // library, algorithm, workspace_bytes, planning_ns and whatever else only the library knows.
  virtual void describe(plugin::Sink& sink) const = 0;
};

class GemmKernel final : public DeviceKernel {
 public:
  GemmKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<GemmOperands> operands,
             std::unique_ptr<GemmCall> call);

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison_outputs() override;
  void read_output(const uint64_t* indices, size_t count, double* values) override;
  void scan_output(deepbench_scan& scan) override;
  void project_output(uint64_t rows, uint64_t seed, double* sums) override;

 protected:
  void enqueue(uint64_t copy) override;

 private:
  std::unique_ptr<GemmOperands> operands_;
  std::unique_ptr<GemmCall> call_;
};

// The plan of copies for calls in this layout on the options' device.
plugin::CopyPlan plan_gemm_copies(const GemmLayout& layout, const plugin::Options& options);

// Throws unsupported where operands cannot be made for want of NVRTC, where the device has no units
// for the precision, or no library here does these operands.
void require_gemm_on_device(const Gemm& gemm, int device);

// The candidate that was asked for is none of this library's.
[[noreturn]] void unknown_gemm_candidate(const std::string& library, const std::string& candidate);

}  // namespace deepbench::cuda
