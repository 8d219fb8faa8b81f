// The operands of a grouped_gemm: the rows of all groups, a matrix for each group, and the results.
// Header-only, for backends.
//
// `Memory` is the backend's access to the memory of one device. An Array is constructed from data,
// type and elements. It has, beside what OutputOperands asks of a Memory:
//   Copies                               the backend's class of allocated arrays
//   allocate(bytes, copies)              a Copies
//   synchronize()                        waits until all work is done
//   fill_parts(array, parts, inputs, seed, operand)   the values of fill.h, in these parts at least
//   fill_parts_with_integers(array, parts, integers, seed, operand)
//   replicate(copies), poison(array)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/matrix.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"

namespace deepbench::plugin {

template <class Memory>
class GroupedGemmOperands final : public OutputOperands<Memory> {
  using Copies = typename Memory::Copies;
  using Array = typename Memory::Array;

 public:
  GroupedGemmOperands(const GroupedGemm& problem, const CopyPlan& plan, Inputs inputs,
                      uint64_t seed, Memory device_memory = Memory())
      : OutputOperands<Memory>(std::move(device_memory)),
        problem_(problem),
        a_(memory().allocate(a_bytes(problem), plan.copies)),
        b_(memory().allocate(b_bytes(problem, problem.groups), plan.copies)),
        c_(memory().allocate(c_bytes(problem), plan.copies)) {
    fill_inputs(inputs, seed);
    poison_outputs();
    memory().synchronize();
  }

  // Sizes in bytes; they saturate. A call does not touch the matrices of empty groups.
  static uint64_t touched_bytes(const GroupedGemm& problem) {
    return saturating_add(saturating_add(a_bytes(problem), c_bytes(problem)),
                          b_bytes(problem, problem.groups_with_rows()));
  }
  // The bytes that the constructor allocates, and those that flush the caches.
  static uint64_t needed_bytes(const GroupedGemm& problem, const CopyPlan& plan) {
    uint64_t bytes = plan.flush_bytes;
    for (const uint64_t operand :
         {a_bytes(problem), b_bytes(problem, problem.groups), c_bytes(problem)})
      bytes = saturating_add(bytes, Copies::needed_bytes(operand, plan.copies));
    return bytes;
  }

  const GroupedGemm& problem() const { return problem_; }
  uint64_t copies() const { return c_.count(); }

  // The rows, the matrix and the results of a group.
  std::byte* a(uint64_t copy, int64_t group) const {
    return a_.at(copy) + problem_.first_row(group) * problem_.k * size_of(problem_.precision.a);
  }
  std::byte* b(uint64_t copy, int64_t group) const {
    return b_.at(copy) + group * problem_.k * problem_.n * size_of(problem_.precision.b);
  }
  std::byte* c(uint64_t copy, int64_t group) const {
    return c_.at(copy) + problem_.first_row(group) * problem_.n * size_of(problem_.precision.c);
  }

  void refill(const std::string& inputs, uint64_t seed) final {
    fill_inputs(parse_refill_inputs(inputs), seed);
    memory().synchronize();
  }
  void poison_outputs() final {
    for (uint64_t copy = 0; copy < c_.count(); ++copy) memory().poison(output(copy));
  }

 protected:
  using OutputOperands<Memory>::memory;

 private:
  static uint64_t a_bytes(const GroupedGemm& of) {
    return matrix_bytes(of.rows, of.k, of.precision.a);
  }
  static uint64_t b_bytes(const GroupedGemm& of, int64_t groups) {
    return saturating_multiply(matrix_bytes(of.k, of.n, of.precision.b), uint64_t(groups));
  }
  static uint64_t c_bytes(const GroupedGemm& of) {
    return matrix_bytes(of.rows, of.n, of.precision.c);
  }

  Array output(uint64_t copy) const final { return array(c_, copy, problem_.precision.c); }

  static Array array(const Copies& copies, uint64_t copy, deepbench_type type) {
    return {copies.at(copy), type, copies.bytes() / uint64_t(size_of(type))};
  }

  void fill_inputs(Inputs inputs, uint64_t seed) const {
    const Array a = array(a_, 0, problem_.precision.a);
    fill_operand(a, {{0, uint64_t(problem_.rows * problem_.k)}}, inputs, seed,
                 GroupedGemm::kStreamA);
    fill_operand(array(b_, 0, problem_.precision.b), matrices_with_rows(), inputs, seed,
                 GroupedGemm::kStreamB);
    memory().replicate(a_);
    memory().replicate(b_);
  }
  void fill_operand(const Array& operand, const std::vector<ElementRange>& parts, Inputs inputs,
                    uint64_t seed, uint32_t stream) const {
    if (inputs == Inputs::kIntegers)
      memory().fill_parts_with_integers(operand, parts, problem_.integers(stream), seed, stream);
    else
      memory().fill_parts(operand, parts, inputs, seed, stream);
  }

  // The elements of B that calls read, as runs of adjacent groups that have rows.
  std::vector<ElementRange> matrices_with_rows() const {
    const auto matrix = uint64_t(problem_.k * problem_.n);
    std::vector<ElementRange> runs;
    for (int64_t group = 0; group < problem_.groups; ++group) {
      if (problem_.rows_of(group) == 0) continue;
      const uint64_t begin = uint64_t(group) * matrix;
      if (runs.empty() || runs.back().end != begin) runs.push_back({begin, begin});
      runs.back().end += matrix;
    }
    return runs;
  }

  const GroupedGemm problem_;
  const Copies a_, b_, c_;
};

}  // namespace deepbench::plugin
