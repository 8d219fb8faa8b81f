// The operands of an all_reduce: what each rank of this process adds, where it receives the sum,
// and what verification asks of the sums. Header-only, for backends.
//
// `RankMemory` is the backend's access to the memory of one rank. It is made from the number of the
// rank's device and has, beside what OutputOperands asks of a Memory (an Array is constructed from
// data, type and elements):
//   Copies, Buffer                            the backend's classes of allocated arrays
//   allocate(bytes, copies), allocate(bytes)  a Copies, a Buffer
//   make_current(), synchronize()             for the calling thread; until all work is done
//   fill_summands(array, summands)            the values of deepbench_summand()
//   fill(array, inputs, seed, operand)        other inputs
//   copy(to, from, bytes), replicate(copies), overwrite(copies, from), poison(array)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/backend/participants.hpp"
#include "deepbench/backend/prepared_kernel.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"

namespace deepbench::plugin {

inline uint64_t payload_bytes(const AllReduce& all_reduce) {
  return saturating_multiply(uint64_t(all_reduce.elements),
                             uint64_t(size_of(all_reduce.precision.c)));
}

// Which of all summands a rank adds.
struct Summands {
  uint64_t seed = 0;
  uint32_t rank = 0, ranks = 1;
};

// The operands of one rank.
template <class RankMemory>
class RankOperands {
 public:
  RankOperands(const AllReduce& all_reduce, RankMemory memory, const CopyPlan& plan, Inputs inputs,
               const Summands& summands)
      : problem_(all_reduce), memory_(memory) {
    const uint64_t bytes = payload_bytes(problem_);
    memory_.make_current();
    input_ = memory_.allocate(bytes, plan.copies);
    if (inputs == Inputs::kUniform)
      memory_.fill_summands(array(input_.at(0)), summands);
    else
      memory_.fill(array(input_.at(0)), inputs, summands.seed, 0);
    memory_.replicate(input_);
    if (problem_.in_place) {
      initial_ = memory_.allocate(bytes);
      memory_.copy(initial_.data(), input_.at(0), bytes);
    } else {
      result_ = memory_.allocate(bytes, plan.copies);
      poison_outputs();
    }
    memory_.synchronize();
  }

  const std::byte* input(uint64_t copy) const { return input_.at(copy); }
  std::byte* result(uint64_t copy) const {
    return problem_.in_place ? input_.at(copy) : result_.at(copy);
  }
  uint64_t copies() const { return input_.count(); }
  const RankMemory& memory() const { return memory_; }

  void restore() const {
    if (!problem_.in_place) return;
    memory_.make_current();
    memory_.overwrite(input_, initial_.data());
  }
  void poison_outputs() const {
    if (problem_.in_place) return restore();
    memory_.make_current();
    for (uint64_t copy = 0; copy < result_.count(); ++copy) memory_.poison(array(result_.at(copy)));
  }
  deepbench_scan scan_output(uint64_t copy) const {
    memory_.make_current();
    return memory_.scan(array(result(copy)), problem_.in_place ? initial_.data() : nullptr);
  }
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
    memory_.make_current();
    memory_.project(array(result(copy)), rows, seed, sums);
  }
  void read_output(uint64_t copy, const uint64_t* indices, size_t count, double* values) const {
    memory_.make_current();
    memory_.read(array(result(copy)), indices, count, values);
  }

 private:
  typename RankMemory::Array array(std::byte* data) const {
    return {data, problem_.precision.c, uint64_t(problem_.elements)};
  }

  const AllReduce problem_;
  const RankMemory memory_;
  typename RankMemory::Copies input_, result_;
  typename RankMemory::Buffer initial_;  // in place: the initial content of input_
};

// The operands of all ranks of this process. Their outputs follow one another in order of rank.
template <class RankMemory>
class AllReduceOperands final : public Operands {
 public:
  AllReduceOperands(const AllReduce& all_reduce, const Participants& participants,
                    const CopyPlan& plan, Inputs inputs, uint64_t seed)
      : problem_(all_reduce), participants_(participants) {
    Summands summands = {seed, uint32_t(participants.first_rank), uint32_t(participants.ranks)};
    for (const int device : participants.devices) {
      all_.push_back(std::make_unique<RankOperands<RankMemory>>(all_reduce, RankMemory(device),
                                                                plan, inputs, summands));
      ++summands.rank;
    }
    all_.front()->memory().make_current();
  }

  // Sizes on each device: what a call touches, and what the constructor allocates.
  static uint64_t touched_bytes(const AllReduce& all_reduce) {
    return saturating_multiply(payload_bytes(all_reduce), all_reduce.in_place ? 1 : 2);
  }
  static uint64_t needed_bytes(const AllReduce& all_reduce, const CopyPlan& plan) {
    const uint64_t array = payload_bytes(all_reduce);
    const uint64_t copies = RankMemory::Copies::needed_bytes(array, plan.copies);
    return saturating_add(saturating_add(copies, all_reduce.in_place ? array : copies),
                          plan.flush_bytes);
  }

  const AllReduce& problem() const { return problem_; }
  const Participants& participants() const { return participants_; }
  uint64_t elements() const { return uint64_t(problem_.elements); }
  const RankOperands<RankMemory>& rank(size_t local_rank) const { return *all_[local_rank]; }

  void describe(Sink& sink) const override {
    sink.integer("ranks", participants_.ranks);
    if (participants_.local() > 1) sink.integer("local_ranks", participants_.local());
    if (!problem_.in_place) return;
    sink.integer("in_place", 1);
    sink.integer("restore_every", sums_before_overflow(problem_.precision.c, participants_.ranks));
  }

  // The ranks of a process work independently. All operands must be restored before a rank that is
  // ahead adds to them.
  void restore() override {
    for (const auto& one : all_) one->restore();
    for (const auto& one : all_) one->memory().synchronize();
  }
  void poison_outputs() override {
    for (const auto& one : all_) one->poison_outputs();
    for (const auto& one : all_) one->memory().synchronize();
  }

  deepbench_scan scan_output(uint64_t copy) const override {
    deepbench_scan total = {sizeof total, 0, 0, 0};
    for (const auto& one : all_) {
      const deepbench_scan scan = one->scan_output(copy);
      total.count += scan.count;
      total.untouched += scan.untouched;
      total.non_finite += scan.non_finite;
    }
    return total;
  }

  // With several ranks, a row of the projection combines outputs of several devices, so the host
  // computes it.
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override {
    if (all_.size() == 1) return all_.front()->project_output(copy, rows, seed, sums);
    const uint64_t outputs = elements() * all_.size();
    output_columns(outputs, rows);
    std::fill(sums, sums + rows, 0.0);
    std::vector<uint64_t> indices;
    std::vector<double> values;
    for (uint64_t first = 0; first < outputs; first += indices.size()) {
      indices.resize(std::min(kReadAtOnce, outputs - first));
      values.resize(indices.size());
      std::iota(indices.begin(), indices.end(), first);
      read_output(copy, indices.data(), indices.size(), values.data());
      for (size_t i = 0; i < values.size(); ++i)
        sums[indices[i] % rows] += values[i] * deepbench_weight(seed, indices[i] / rows);
    }
  }

  // Reads runs of indices that belong to the same rank.
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const override {
    std::vector<uint64_t> local_indices;
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
      require_element(indices[begin], elements() * all_.size());
      const uint64_t rank = indices[begin] / elements();
      local_indices.clear();
      for (end = begin; end < count && indices[end] / elements() == rank; ++end)
        local_indices.push_back(indices[end] - rank * elements());
      all_[rank]->read_output(copy, local_indices.data(), local_indices.size(), values + begin);
    }
  }

 private:
  static constexpr uint64_t kReadAtOnce = 1 << 20;

  const AllReduce problem_;
  const Participants participants_;
  std::vector<std::unique_ptr<RankOperands<RankMemory>>> all_;
};

}  // namespace deepbench::plugin
