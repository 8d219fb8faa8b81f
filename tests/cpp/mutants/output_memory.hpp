// The memory in which a mutant leaves one output, and what verification sees of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "outputs.hpp"

namespace deepbench::testing {

class OutputMemory {
 public:
  virtual ~OutputMemory() = default;

  // Makes the memory of an output of this type and size; mutants_on_device.cpp replaces it.
  using Make = std::function<std::unique_ptr<OutputMemory>(const Outputs& like)>;
  static Make make;

  virtual void poison() = 0;
  // The values that an output in place has before a call. They are those that scan() compares with
  // from then on.
  virtual void restore(const std::vector<double>& initial) = 0;
  // What a call leaves: the elements that it writes.
  virtual void write(const Outputs& outputs) = 0;

  // As the functions of a kernel of a plugin.
  virtual void read(const uint64_t* indices, size_t count, double* values) = 0;
  virtual void scan(deepbench_scan& scan) = 0;
  virtual void project(uint64_t rows, uint64_t seed, double* sums) = 0;
};

// On the host, as numbers of double precision.
class HostOutputMemory final : public OutputMemory {
 public:
  explicit HostOutputMemory(const Outputs& like)
      : type_(like.type), held_(like.values.size()), before_(held_.size()) {
    poison();
  }

  void poison() override { restore(std::vector<double>(before_.size(), testing::poison(type_))); }
  void restore(const std::vector<double>& initial) override { held_ = before_ = initial; }
  void write(const Outputs& outputs) override {
    for (size_t i = 0; i < held_.size(); ++i)
      if (outputs.writes(i)) held_[i] = outputs.values[i];
  }

  void read(const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = held_.at(indices[i]);
  }
  void scan(deepbench_scan& scan) override {
    scan.count = held_.size();
    scan.untouched = scan.non_finite = 0;
    for (size_t i = 0; i < held_.size(); ++i) {
      // A computed NaN has other bits than the poison; the mutants make infinities.
      scan.untouched += std::isnan(held_[i]) || held_[i] == before_[i];
      scan.non_finite += std::isinf(held_[i]);
    }
  }
  void project(uint64_t rows, uint64_t seed, double* sums) override {
    std::fill_n(sums, rows, 0);
    for (size_t i = 0; i < held_.size(); ++i)
      sums[i % rows] += held_[i] * deepbench_weight(seed, i / rows);
  }

 private:
  const deepbench_type type_;
  std::vector<double> held_, before_;
};

inline OutputMemory::Make OutputMemory::make = [](const Outputs& like) {
  return std::make_unique<HostOutputMemory>(like);
};

}  // namespace deepbench::testing
