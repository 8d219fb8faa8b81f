// A kernel that leaves in several outputs what a test gives it, behind the plugin's table.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../run/row/one_kernel_backend.hpp"
#include "outputs.hpp"

namespace deepbench::testing {

struct SeveralOutputs {
  std::vector<Outputs> uniform{};
  std::vector<Outputs> integers{};  // after a refill with integers; none: it cannot be refilled
};

class SeveralOutputsKernel final : public PlainKernel {
 public:
  static inline SeveralOutputs next{};  // of the next kernel that is prepared

  SeveralOutputsKernel() : does_(next) { poison_outputs(); }

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    PlainKernel::time_batch(request, batch);
    const std::vector<Outputs>& all = refilled_ ? does_.integers : does_.uniform;
    for (size_t k = 0; k < all.size(); ++k)
      for (size_t i = 0; i < held_[k].size(); ++i)
        if (all[k].is_written.empty() || all[k].is_written[i]) held_[k][i] = all[k].values[i];
  }
  void refill(const std::string& inputs, uint64_t) override {
    if (inputs != "integers" || does_.integers.empty())
      plugin::unsupported("it has no other operands");
    refilled_ = true;
  }
  void poison_outputs() override {
    held_.clear();
    for (const Outputs& one : does_.uniform)
      held_.emplace_back(one.values.size(), testing::poison(one.type));
  }
  void read_output(uint32_t output, const uint64_t* indices, size_t count,
                   double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = held_.at(output).at(indices[i]);
  }
  void scan_output(uint32_t output, deepbench_scan& scan) override {
    scan.count = held_.at(output).size();
    scan.untouched = scan.non_finite = 0;
    for (const double value : held_[output]) {
      scan.untouched += std::isnan(value);
      scan.non_finite += std::isinf(value);
    }
  }
  void project_output(uint32_t output, uint64_t rows, uint64_t seed, double* sums) override {
    std::fill_n(sums, rows, 0);
    const std::vector<double>& held = held_.at(output);
    for (size_t i = 0; i < held.size(); ++i)
      sums[i % rows] += held[i] * deepbench_weight(seed, i / rows);
  }

 private:
  const SeveralOutputs does_;
  bool refilled_ = false;
  std::vector<std::vector<double>> held_;
};

}  // namespace deepbench::testing
