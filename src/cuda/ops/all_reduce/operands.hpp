// The operands of an all_reduce in device memory: the inputs and the results of this process'
// ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "operand.hpp"
#include "ops/all_reduce/participants.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// The operands of one rank. They are not allocated from a pool, because other processes may get
// access to them.
class RankOperands {
 public:
  RankOperands(const AllReduce& all_reduce, int rank, int ranks, const plugin::CopyPlan& plan,
               Inputs inputs, uint64_t seed, Stream& stream);

  const std::byte* input(uint64_t copy) const { return input_.at(copy); }
  std::byte* result(uint64_t copy) const { return in_place_ ? input_.at(copy) : result_.at(copy); }
  uint64_t copies() const { return input_.count(); }
  Stream& stream() const { return stream_; }

  void restore() const;
  void poison() const;
  deepbench_scan scan(uint64_t copy) const;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const;

 private:
  Matrix array(void* data) const { return {data, type_, elements_}; }

  const deepbench_type type_;
  const uint64_t elements_;
  const bool in_place_;
  Stream& stream_;
  Copies input_, result_;
  Buffer initial_;  // in place: the initial content of input_
};

class AllReduceOperands final : public Operands {
 public:
  AllReduceOperands(const AllReduce& all_reduce, const Participants& participants,
                    const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed);

  // Sizes on each device.
  static uint64_t touched_bytes(const AllReduce& all_reduce);
  static uint64_t needed_bytes(const AllReduce& all_reduce, const plugin::CopyPlan& plan);

  const AllReduce& problem() const { return problem_; }
  const Participants& participants() const { return participants_; }
  uint64_t elements() const { return uint64_t(problem_.elements); }
  const RankOperands& rank(size_t local_rank) const { return *all_[local_rank]; }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  const AllReduce problem_;
  const Participants participants_;
  std::vector<std::unique_ptr<RankOperands>> all_;  // of this process
};

}  // namespace deepbench::cuda
