// A prepared call of a library on a device, and operands whose result is one matrix.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "deepbench/backend/implementation.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/prepared_kernel.hpp"
#include "deepbench/backend/typed_plan.hpp"
#include "device_call.hpp"
#include "device_memory.hpp"
#include "kernel.hpp"

namespace deepbench::cuda {

using plugin::ForwardState;
using plugin::Operands;

// The library's part of a kernel.
class LibraryCall : public plugin::LibraryCall, public DeviceCall {};

// Operands whose output is one matrix on one device.
class MatrixOperands : public plugin::OutputOperands<DeviceMemory> {
 protected:
  explicit MatrixOperands(Stream& stream) : OutputOperands(DeviceMemory(stream)), stream_(stream) {}

  Stream& stream_;
};

class PreparedKernel final : public plugin::PreparedKernel<LibraryCall, DeviceKernel> {
 public:
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 std::unique_ptr<LibraryCall> call);
  PreparedKernel(Stream& stream, const plugin::CopyPlan& plan, std::unique_ptr<Operands> operands,
                 const std::function<std::unique_ptr<LibraryCall>()>& make_call);
  ~PreparedKernel() override { release_graphs(); }

  DeviceCall& timed_call() override { return call(); }
};

// The plan of copies for calls that touch this many bytes on the device in the options.
plugin::CopyPlan plan_copies(uint64_t touched_bytes, const plugin::Options& options);

using plugin::describe_plan;
using plugin::implementation_of_plan;
using plugin::plan_if_supported;
using plugin::reject_candidate;
using plugin::require_candidate;

}  // namespace deepbench::cuda
