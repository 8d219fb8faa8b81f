// A kernel that leaves the outputs a test gives it, behind the plugin's table: what verification
// sees of a library.
#pragma once

#include <utility>

#include "../run/row/one_kernel_backend.hpp"
#include "outputs.hpp"
#include "plain_kernels.hpp"

namespace deepbench::testing {

struct Behavior {
  Outputs uniform{};
  Outputs integers{};  // after a refill with integers; no values: it cannot be refilled
  // What the output in place holds before a call; empty: the kernel is not in place.
  std::vector<double> initial{}, initial_integers{};
};

class MutantKernel final : public PlainKernel {
 public:
  static inline Behavior next{};  // of the next kernel that is prepared

  MutantKernel() : does_(next) { poison_outputs(); }

  void describe(plugin::Sink& sink) const override {
    sink.integer("in_place", in_place());
    sink.integer("inputs", 1);
    sink.integer("ranks", kSummingRanks);
    sink.integer("local_ranks", kLocalRanks);
  }

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    PlainKernel::time_batch(request, batch);
    const Outputs& out = refilled_ ? does_.integers : does_.uniform;
    for (size_t i = 0; i < held_.size(); ++i)
      if (out.is_written.empty() || out.is_written[i]) held_[i] = out.values[i];
  }

  void refill(const std::string& inputs, uint64_t) override {
    if (inputs != "integers" || does_.integers.values.empty())
      plugin::unsupported("it has no other operands");
    refilled_ = true;
  }

  void poison_outputs() override { held_ = before_call(); }
  void restore() override { poison_outputs(); }

  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = held_.at(indices[i]);
  }

  void scan_output(uint32_t, deepbench_scan& scan) override {
    const std::vector<double> before = before_call();
    scan.count = held_.size();
    scan.untouched = scan.non_finite = 0;
    for (size_t i = 0; i < held_.size(); ++i) {
      // A computed NaN has other bits than the poison; the mutants make infinities.
      const bool is_poison = std::isnan(held_[i]);
      scan.untouched += is_poison || held_[i] == before[i];
      scan.non_finite += std::isinf(held_[i]);
    }
  }

  void project_output(uint32_t, uint64_t rows, uint64_t seed, double* sums) override {
    std::fill_n(sums, rows, 0);
    for (size_t i = 0; i < held_.size(); ++i)
      sums[i % rows] += held_[i] * deepbench_weight(seed, i / rows);
  }

 private:
  bool in_place() const { return !does_.initial.empty(); }

  std::vector<double> before_call() const {
    if (in_place()) return refilled_ ? does_.initial_integers : does_.initial;
    return std::vector<double>(does_.uniform.values.size(), poison(does_.uniform.type));
  }

  const Behavior does_;
  bool refilled_ = false;
  std::vector<double> held_;
};

}  // namespace deepbench::testing
