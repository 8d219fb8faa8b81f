// The operands of all_reduce: the summand of this rank and the buffer that receives the sum.
#pragma once

#include <cstdint>

#include "copies.hpp"
#include "deepbench/backend/ranks.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "operand.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

class AllReduceOperands final : public Operands {
 public:
  AllReduceOperands(const AllReduce& all_reduce, const plugin::Ranks& ranks, const CopyPlan& plan,
                    Inputs inputs, uint64_t seed);

  static uint64_t touched_bytes(const AllReduce& all_reduce);
  // The number of bytes that prepare() allocates on this rank.
  static uint64_t needed_bytes(const AllReduce& all_reduce, const CopyPlan& plan);

  const AllReduce& problem() const { return problem_; }
  uint64_t elements() const { return uint64_t(problem_.elements); }
  const std::byte* input(uint64_t copy) const { return input_.at(copy); }
  std::byte* result(uint64_t copy) const {
    return problem_.in_place ? input_.at(copy) : result_.at(copy);
  }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  deepbench_type type() const { return problem_.precision.c; }
  void fill(std::byte* out, Inputs inputs, uint64_t seed) const;

  const AllReduce problem_;
  const int rank_, ranks_;
  Copies input_, result_;
  Buffer initial_;  // A copy of the initial input, for the in-place form.
};

}  // namespace deepbench::cpu
