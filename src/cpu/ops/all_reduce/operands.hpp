// The operands of a sum over ranks: what this rank adds, and where the sum arrives.
#pragma once

#include <cstdint>

#include "copies.hpp"
#include "deepbench/backend/ranks.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "kernel.hpp"
#include "operand.hpp"

namespace deepbench::cpu {

class AllReduceOperands final : public Operands {
 public:
  AllReduceOperands(const AllReduce& sum, const plugin::Ranks& ranks, const CopyPlan& plan,
                    Inputs inputs, uint64_t seed);

  static uint64_t touched_bytes(const AllReduce& sum);
  // By prepare, on this rank.
  static uint64_t needed_bytes(const AllReduce& sum, const CopyPlan& plan);

  const AllReduce& sum() const { return sum_; }
  uint64_t elements() const { return uint64_t(sum_.elements); }
  const std::byte* mine(uint64_t copy) const { return mine_.at(copy); }
  std::byte* result(uint64_t copy) const {
    return sum_.in_place ? mine_.at(copy) : result_.at(copy);
  }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  deepbench_type type() const { return sum_.precision.c; }
  void fill(std::byte* out, Inputs inputs, uint64_t seed) const;

  const AllReduce sum_;
  const int rank_, ranks_;
  Copies mine_, result_;
  Buffer first_;  // in place: what mine_ held at first
};

}  // namespace deepbench::cpu
