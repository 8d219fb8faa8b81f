// Launches the kernels of kernels/norm.cu.
#include "ops/norm/kernels.hpp"

#include "device.hpp"

namespace deepbench::cuda {
namespace {

template <class Element>
Element* part(const NormOperands& operands, NormPart which, uint64_t copy) {
  return static_cast<Element*>(operands.at(which, copy));
}

NormArguments arguments_of(const NormOperands& operands, uint64_t copy) {
  const Norm& norm = operands.norm();
  NormArguments of = {};
  of.x = part<void>(operands, NormPart::kX, copy);
  of.dy = part<void>(operands, NormPart::kDy, copy);
  of.scale = part<float>(operands, NormPart::kScale, copy);
  of.shift = part<float>(operands, NormPart::kShift, copy);
  of.mean = part<float>(operands, NormPart::kMean, copy);
  of.spread = part<float>(operands, NormPart::kSpread, copy);
  of.dscale = part<float>(operands, NormPart::kDscale, copy);
  of.dshift = part<float>(operands, NormPart::kDshift, copy);
  of.rows = uint64_t(norm.rows), of.columns = uint64_t(norm.columns);
  of.set = uint64_t(norm.kind == NormKind::kBatch ? norm.columns : norm.set_elements());
  of.epsilon = float(Norm::kEpsilon);
  of.has_mean = norm.has_mean();
  return of;
}

}  // namespace

NormKernels::NormKernels(const NormLaunches& plan, const NormOperands& operands, Stream& stream)
    : plan_(plan), operands_(operands), stream_(stream), partial_(plan.partial_bytes) {
  for (const NormLaunch& launch : plan.launches)
    functions_.push_back(planned_function("norm", launch.expression, stream));
}

void NormKernels::enqueue(uint64_t copy, void* out) const {
  NormArguments arguments = arguments_of(operands_, copy);
  arguments.out = out;
  arguments.partial = reinterpret_cast<float*>(partial_.data());
  for (size_t i = 0; i < functions_.size(); ++i) {
    const NormLaunch& launch = plan_.launches[i];
    const Function& kernel = functions_[i].kernel;
    if (launch.second == NormLaunch::Second::kNone)
      kernel.launch(launch.shape, stream_.get(), arguments);
    else if (launch.second == NormLaunch::Second::kParts)
      kernel.launch(launch.shape, stream_.get(), arguments, launch.value);
    else
      kernel.launch(launch.shape, stream_.get(), arguments, uint32_t(launch.value));
  }
}

void prepare_statistics(NormOperands& operands, Stream& stream) {
  const Norm& norm = operands.norm();
  if (!norm.is_backward()) return;
  const int multiprocessors = device_facts(stream.device()).multiprocessors;
  const NormKernels kernels(statistics_launches(norm, multiprocessors), operands, stream);
  kernels.enqueue(0, nullptr);
  operands.replicate_statistics();
}

}  // namespace deepbench::cuda
