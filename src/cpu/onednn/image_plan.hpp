// A plan of a oneDNN call on images. The operation defines how the primitive of a layout is made.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/typed_plan.hpp"
#include "onednn/images.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu::onednn {

// The computation of oneDNN in one layout.
struct ImagePrimitive {
  std::vector<Images> inputs;  // inputs of the primitive that is timed first
  Images output;
  PrimitiveDesc forward;  // forward pass of a gradient; otherwise null
  PrimitiveDesc timed;

  std::vector<const Images*> input_pointers() const {
    std::vector<const Images*> all;
    for (const Images& images : inputs) all.push_back(&images);
    return all;
  }
  uint64_t touched_bytes() const {
    uint64_t bytes = output.stored_bytes();
    for (const Images& images : inputs) bytes += images.stored_bytes();
    return bytes;
  }
};

// The call of a primitive from its first input to its output.
class ImageCall : public PrimitiveCall {
 public:
  ImageCall(std::shared_ptr<const ImagePrimitive> primitive, const ImageOperands& operands,
            int threads);

  void describe(plugin::Sink& sink) const override;

 private:
  const std::shared_ptr<const ImagePrimitive> primitive_;
};

// Traits:
//   Problem, parse(problem)
//   make(problem, layout)     the ImagePrimitive; throws unsupported
//   work(problem)             operations of a plain loop
//   extra_bytes(primitive, copies)   of the call, beside operands and scratchpad
//   Call(primitive, operands, threads)   an ImageCall
template <class Traits>
class ImagePlan final : public plugin::TypedPlan<ImagePlan<Traits>, typename Traits::Problem> {
  using Problem = typename Traits::Problem;
  using Base = plugin::TypedPlan<ImagePlan<Traits>, Problem>;

 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Problem parse(const plugin::Problem& problem) { return Traits::parse(problem); }

  ImagePlan(const Problem& problem, const plugin::Options& options, const std::string& candidate)
      : Base(problem, options),
        threads_(thread_count(options.threads)),
        primitive_(make_primitive(problem, candidate, threads_)),
        copies_(plan_copies(primitive_->touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_primitive(primitive_->timed.get(), memory_bytes(), this->options_.workspace, sink);
  }

  // The layouts that oneDNN supports for this problem; those of its plain loops come last.
  std::vector<std::string> candidates(int64_t) const override {
    std::vector<std::string> ids;
    for (const std::string& layout : image_layouts())
      if (plugin::plan_if_supported(
              [&] { return make_primitive(this->problem_, layout, threads_); }))
        ids.push_back(layout);
    return ids;
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands =
        std::make_unique<ImageOperands>(primitive_->input_pointers(), primitive_->output, copies_,
                                        parse_inputs(this->options_.inputs), this->options_.seed);
    auto call = std::make_unique<typename Traits::Call>(primitive_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static std::shared_ptr<const ImagePrimitive> make_primitive(const Problem& problem,
                                                              const std::string& layout,
                                                              int threads) {
    require_precision(problem.precision.precision);
    if (problem.precision.precision == Precision::kInt8)
      plugin::unsupported("images of 8-bit integers have no reference");
    const std::vector<std::string> layouts = image_layouts();
    if (!layout.empty()) plugin::require_candidate("onednn", layouts, layout);
    Api::instance().use_threads(threads);
    auto made = std::make_shared<const ImagePrimitive>(
        Traits::make(problem, layout.empty() ? layouts.front() : layout));
    reject_too_slow(implementation_name(made->timed.get()), Traits::work(problem));
    return made;
  }

  uint64_t memory_bytes() const {
    const uint64_t operands =
        ImageOperands::needed_bytes(primitive_->input_pointers(), primitive_->output, copies_);
    return saturating_add(operands, saturating_add(scratchpad_bytes(primitive_->timed.get()),
                                                   Traits::extra_bytes(*primitive_, copies_)));
  }

  const int threads_;
  const std::shared_ptr<const ImagePrimitive> primitive_;
  const CopyPlan copies_;
};

}  // namespace deepbench::cpu::onednn
