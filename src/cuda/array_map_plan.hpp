// Plans of calls that read some arrays of a device and write another one, parametrized by operation
// and library.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/array_operands.hpp"
#include "device_memory.hpp"
#include "implementation.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {

using DeviceArrays = plugin::ArrayMapOperands<DeviceMemory>;

// Traits defines what differs between them:
//   kOperation, kLibrary         their names
//   Problem                      the typed problem, with inputs(), type() and precision
//   parse(problem)               a Problem
//   outputs(problem)             elements of the output
//   library()                    the facts of the library
//   library_text()               the library in rows
//   candidates(problem)          ids, the default first; throws unsupported
//   Call(problem, candidate, operands, stream)   a LibraryCall
template <class Traits>
class ArrayMapPlan final
    : public plugin::TypedPlan<ArrayMapPlan<Traits>, typename Traits::Problem> {
  using Problem = typename Traits::Problem;
  using Base = plugin::TypedPlan<ArrayMapPlan<Traits>, Problem>;

 public:
  static LibraryFacts library() { return Traits::library(); }
  static Problem parse(const plugin::Problem& problem) { return Traits::parse(problem); }

  ArrayMapPlan(const Problem& problem, const plugin::Options& options, const std::string& candidate)
      : Base(problem, options),
        arrays_{problem.inputs(), problem.type(), Traits::outputs(problem)},
        ids_(Traits::candidates(problem)),
        candidate_(candidate.empty() ? ids_.front() : candidate),
        copies_(plan_copies(arrays_.touched_bytes(), options)) {
    require_built_in_kernels(Traits::kOperation);
    require_precision_support(problem.precision, options.device);
    parse_inputs(options.inputs);
    require_candidate(Traits::kLibrary, ids_, candidate_);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(Traits::library_text(), candidate_,
                  arrays_.template needed_bytes<Copies>(copies_), 0, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return ids_; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    const plugin::Options& options = this->options_;
    Stream& stream = Stream::of(options.device);
    auto operands = std::make_unique<DeviceArrays>(arrays_, copies_, parse_inputs(options.inputs),
                                                   options.seed, DeviceMemory(stream));
    auto call =
        std::make_unique<typename Traits::Call>(this->problem_, candidate_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  const plugin::CallArrays arrays_;
  const std::vector<std::string> ids_;
  const std::string candidate_;
  const plugin::CopyPlan copies_;
};

}  // namespace deepbench::cuda
