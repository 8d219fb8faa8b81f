// The library-independent part of a prepared call.
#include "prepared_kernel.hpp"

#include "device.hpp"

namespace deepbench::cuda {

deepbench_scan MatrixOperands::scan(uint64_t copy) const {
  return cuda::scan(output(copy), restored(), stream_);
}

void MatrixOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  cuda::project(output(copy), rows, seed, sums, stream_);
}

void MatrixOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                          double* values) const {
  cuda::read(output(copy), indices, count, values, stream_);
}

PreparedKernel::PreparedKernel(Stream& stream, const plugin::CopyPlan& plan,
                               std::unique_ptr<Operands> operands,
                               std::unique_ptr<LibraryCall> call)
    : DeviceKernel(stream, plan), operands_(std::move(operands)), call_(std::move(call)) {}

PreparedKernel::PreparedKernel(Stream& stream, const plugin::CopyPlan& plan,
                               std::unique_ptr<Operands> operands,
                               const std::function<std::unique_ptr<LibraryCall>()>& make_call)
    : DeviceKernel(stream, plan), operands_(std::move(operands)), call_(make_call()) {}

void PreparedKernel::describe(plugin::Sink& sink) const {
  call_->describe(sink);
  plan().describe(sink);
  operands_->describe(sink);
}

void PreparedKernel::restore() {
  device_stream().make_current();
  operands_->restore();
}

void PreparedKernel::poison_outputs() {
  device_stream().make_current();
  operands_->poison();
}

void PreparedKernel::read_output(const uint64_t* indices, size_t count, double* values) {
  device_stream().make_current();
  operands_->read(last_copy(), indices, count, values);
}

void PreparedKernel::scan_output(deepbench_scan& scan) {
  device_stream().make_current();
  const size_t size = scan.struct_size;
  scan = operands_->scan(last_copy());
  scan.struct_size = size;
}

void PreparedKernel::project_output(uint64_t rows, uint64_t seed, double* sums) {
  device_stream().make_current();
  operands_->project(last_copy(), rows, seed, sums);
}

deepbench_following PreparedKernel::follow(const plugin::Kernel& other) {
  const auto* const prepared = dynamic_cast<const PreparedKernel*>(&other);
  if (!prepared) return DEEPBENCH_ALONE;
  device_stream().make_current();
  return call_->follow(*prepared->call_);
}

plugin::CopyPlan plan_copies(uint64_t touched_bytes, const plugin::Options& options) {
  const DeviceFacts& device = device_facts(options.device);
  return plugin::plan_copies(touched_bytes, options, device.l2_bytes, device.memory_bytes);
}

}  // namespace deepbench::cuda
