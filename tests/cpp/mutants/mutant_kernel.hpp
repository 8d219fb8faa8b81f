// A kernel that leaves in its outputs what a test gives it, behind the plugin's table: what
// verification sees of a library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../run/row/one_kernel_backend.hpp"
#include "output_memory.hpp"
#include "plain_kernels.hpp"

namespace deepbench::testing {

struct Behavior {
  std::vector<Outputs> uniform{};
  std::vector<Outputs> integers{};  // after a refill with integers; none: it cannot be refilled
  // What the single output in place holds before a call. Empty: the kernel is not in place.
  std::vector<double> initial{}, initial_integers{};
};

class MutantKernel final : public PlainKernel {
 public:
  static inline Behavior next{};  // of the next kernel that is prepared

  MutantKernel() : does_(next) {
    for (const Outputs& one : does_.uniform) outputs_.push_back(OutputMemory::make(one));
  }

  void describe(plugin::Sink& sink) const override {
    sink.integer("in_place", in_place());
    sink.integer("inputs", 1);
    sink.integer("ranks", kSummingRanks);
    sink.integer("local_ranks", kLocalRanks);
  }

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    PlainKernel::time_batch(request, batch);
    const std::vector<Outputs>& all = refilled_ ? does_.integers : does_.uniform;
    for (size_t i = 0; i < all.size(); ++i) outputs_[i]->write(all[i]);
  }

  void refill(const std::string& inputs, uint64_t) override {
    if (inputs != "integers" || does_.integers.empty())
      plugin::unsupported("it has no other operands");
    refilled_ = true;
  }

  void poison_outputs() override {
    for (const auto& output : outputs_)
      in_place() ? output->restore(refilled_ ? does_.initial_integers : does_.initial)
                 : output->poison();
  }
  void restore() override { poison_outputs(); }

  void read_output(uint32_t output, const uint64_t* indices, size_t count,
                   double* values) override {
    outputs_.at(output)->read(indices, count, values);
  }
  void scan_output(uint32_t output, deepbench_scan& scan) override {
    outputs_.at(output)->scan(scan);
  }
  void project_output(uint32_t output, uint64_t rows, uint64_t seed, double* sums) override {
    outputs_.at(output)->project(rows, seed, sums);
  }

 private:
  bool in_place() const { return !does_.initial.empty(); }

  const Behavior does_;
  bool refilled_ = false;
  std::vector<std::unique_ptr<OutputMemory>> outputs_;
};

}  // namespace deepbench::testing
