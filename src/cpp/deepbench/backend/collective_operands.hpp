// The operands of a collective: what each rank of this process contributes, where it receives its
// result, and what verification asks of the results. Header-only, for backends.
//
// `RankMemory` is the backend's access to the memory of one rank. It is made from the number of the
// rank's device and has, beside what OutputOperands asks of a Memory (an Array is constructed from
// data, type and elements):
//   Copies, Buffer                            the backend's classes of allocated arrays
//   allocate(bytes, copies), allocate(bytes)  a Copies, a Buffer
//   make_current(), synchronize()             for the calling thread; until all work is done
//   fill_summands(array, summands)            the values of deepbench_summand()
//   fill(array, inputs, seed, operand)        all other inputs
//   copy(to, from, bytes), replicate(copies), overwrite(copies, from), poison(array)
//
// refill("mantissas") fills the operands of sums with uniform elements too, whose sums depend on
// the order of additions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/backend/participants.hpp"
#include "deepbench/backend/prepared_kernel.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/collective/collective.hpp"

namespace deepbench::plugin {

// Bytes of the operand and of the result of one rank.
inline uint64_t operand_bytes(const Collective& collective, int ranks) {
  return saturating_multiply(collective.operand_elements(ranks),
                             uint64_t(size_of(collective.precision.c)));
}
inline uint64_t result_bytes(const Collective& collective, int ranks) {
  return saturating_multiply(collective.result_elements(ranks),
                             uint64_t(size_of(collective.precision.c)));
}

// The share of all summands that a rank adds.
struct Summands {
  uint64_t seed = 0;
  uint32_t rank = 0, ranks = 1;
};

// The operands of one rank.
template <class RankMemory>
class RankOperands {
 public:
  RankOperands(const Collective& collective, RankMemory memory, const CopyPlan& plan, Inputs inputs,
               const Summands& summands)
      : problem_(collective),
        rank_(int(summands.rank)),
        ranks_(int(summands.ranks)),
        memory_(memory) {
    const uint64_t bytes = operand_bytes(problem_, ranks_);
    memory_.make_current();
    input_ = memory_.allocate(bytes, plan.copies);
    if (problem_.has_one_array())
      initial_ = memory_.allocate(bytes);
    else
      result_ = memory_.allocate(result_bytes(problem_, ranks_), plan.copies);
    fill(inputs, summands, problem_.is_sum());
    if (!problem_.has_one_array()) poison_outputs();
    memory_.synchronize();
  }

  void refill(Inputs inputs, uint64_t seed, bool has_exact_sums) const {
    memory_.make_current();
    fill(inputs, {seed, uint32_t(rank_), uint32_t(ranks_)}, has_exact_sums);
    memory_.synchronize();
  }

  const std::byte* input(uint64_t copy) const { return input_.at(copy); }
  std::byte* result(uint64_t copy) const {
    return problem_.has_one_array() ? input_.at(copy) : result_.at(copy);
  }
  bool has_result() const { return problem_.has_result(rank_, ranks_); }
  uint64_t copies() const { return input_.count(); }
  const RankMemory& memory() const { return memory_; }

  void restore() const {
    if (!problem_.has_one_array()) return;
    memory_.make_current();
    memory_.overwrite(input_, initial_.data());
  }
  void poison_outputs() const {
    if (problem_.has_one_array()) return restore();
    memory_.make_current();
    for (uint64_t copy = 0; copy < result_.count(); ++copy) memory_.poison(output(copy));
  }
  deepbench_scan scan_output(uint64_t copy) const {
    memory_.make_current();
    return memory_.scan(output(copy), problem_.in_place ? initial_.data() : nullptr);
  }
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
    memory_.make_current();
    memory_.project(output(copy), rows, seed, sums);
  }
  void read_output(uint64_t copy, const uint64_t* indices, size_t count, double* values) const {
    memory_.make_current();
    memory_.read(output(copy), indices, count, values);
  }

 private:
  using Array = typename RankMemory::Array;

  void fill(Inputs inputs, const Summands& summands, bool has_exact_sums) const {
    fill_operand(inputs, summands, has_exact_sums);
    memory_.replicate(input_);
    if (problem_.has_one_array())
      memory_.copy(initial_.data(), input_.at(0), operand_bytes(problem_, ranks_));
  }
  // If the array is also the one that receives a broadcast from another rank, it is poisoned,
  // because the result overwrites it.
  void fill_operand(Inputs inputs, const Summands& summands, bool has_exact_sums) const {
    const Array operand = {input_.at(0), problem_.precision.c, problem_.operand_elements(ranks_)};
    if (problem_.kind == CollectiveKind::kBroadcast && has_result())
      memory_.poison(operand);
    else if (has_exact_sums && inputs == Inputs::kUniform)
      memory_.fill_summands(operand, summands);
    else
      memory_.fill(operand, inputs, summands.seed, summands.rank);
  }
  Array output(uint64_t copy) const {
    return {result(copy), problem_.precision.c, problem_.result_elements(ranks_)};
  }

  const Collective problem_;
  const int rank_, ranks_;
  const RankMemory memory_;
  typename RankMemory::Copies input_, result_;
  typename RankMemory::Buffer initial_;  // one array: the initial contents of input_
};

// The operands of all ranks of this process. The outputs of the ranks are consecutive, in the order
// of the ranks.
template <class RankMemory>
class CollectiveOperands final : public Operands {
 public:
  CollectiveOperands(const Collective& collective, const Participants& participants,
                     const CopyPlan& plan, Inputs inputs, uint64_t seed)
      : problem_(collective), participants_(participants) {
    Summands summands = {seed, uint32_t(participants.first_rank), uint32_t(participants.ranks)};
    for (const int device : participants.devices) {
      all_.push_back(std::make_unique<RankOperands<RankMemory>>(collective, RankMemory(device),
                                                                plan, inputs, summands));
      ++summands.rank;
    }
    all_.front()->memory().make_current();
  }

  // Sizes on each device: the bytes that a call touches, and the bytes that the constructor
  // allocates.
  static uint64_t touched_bytes(const Collective& collective, int ranks) {
    const uint64_t operand = operand_bytes(collective, ranks);
    return collective.has_one_array() ? operand
                                      : saturating_add(operand, result_bytes(collective, ranks));
  }
  static uint64_t needed_bytes(const Collective& collective, int ranks, const CopyPlan& plan) {
    const auto copies = [&](uint64_t array) {
      return RankMemory::Copies::needed_bytes(array, plan.copies);
    };
    const uint64_t operand = operand_bytes(collective, ranks);
    const uint64_t result =
        collective.has_one_array() ? operand : copies(result_bytes(collective, ranks));
    return saturating_add(saturating_add(copies(operand), result), plan.flush_bytes);
  }

  const Collective& problem() const { return problem_; }
  const Participants& participants() const { return participants_; }
  // Elements of the result of one rank, and of the results of all ranks of this process.
  uint64_t result_elements() const { return problem_.result_elements(participants_.ranks); }
  uint64_t outputs() const {
    return problem_.outputs(participants_.first_rank, participants_.local(), participants_.ranks);
  }
  const RankOperands<RankMemory>& rank(size_t local_rank) const { return *all_[local_rank]; }

  void describe(Sink& sink) const override {
    sink.integer("ranks", participants_.ranks);
    if (participants_.local() > 1) sink.integer("local_ranks", participants_.local());
    if (!problem_.in_place) return;
    sink.integer("in_place", 1);
    sink.integer("restore_every", sums_before_overflow(problem_.precision.c, participants_.ranks));
  }

  void refill(const std::string& inputs, uint64_t seed) override {
    const bool has_full_mantissas = inputs == "mantissas";
    const Inputs parsed = has_full_mantissas ? Inputs::kUniform : parse_inputs(inputs);
    for (const auto& one : all_)
      one->refill(parsed, seed, problem_.is_sum() && !has_full_mantissas);
  }

  // The ranks of a process work independently: all operands must be restored before a rank that is
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
      if (!one->has_result()) continue;
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
    output_columns(outputs(), rows);
    std::fill(sums, sums + rows, 0.0);
    std::vector<uint64_t> indices;
    std::vector<double> values;
    for (uint64_t first = 0; first < outputs(); first += indices.size()) {
      indices.resize(std::min(kReadAtOnce, outputs() - first));
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
    const uint64_t elements = result_elements();
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
      require_element(indices[begin], outputs());
      const uint64_t rank = indices[begin] / elements;
      local_indices.clear();
      for (end = begin; end < count && indices[end] / elements == rank; ++end)
        local_indices.push_back(indices[end] - rank * elements);
      all_[rank]->read_output(copy, local_indices.data(), local_indices.size(), values + begin);
    }
  }

 private:
  static constexpr uint64_t kReadAtOnce = 1 << 20;

  const Collective problem_;
  const Participants participants_;
  std::vector<std::unique_ptr<RankOperands<RankMemory>>> all_;
};

}  // namespace deepbench::plugin
