// The operands of lookups in a backend's memory, the table or its gradient, the rows that lookups
// make or their gradients, and the indices. Header-only, for backends.
//
// `Memory` is the backend's access to the memory of one device. It has, beside what OutputOperands
// asks of a Memory (an Array is made of its data, its type and the number of its elements):
//   Copies, Buffer                      the backend's classes of allocated arrays
//   allocate(bytes, copies)             a Copies
//   allocate(bytes)                     a Buffer
//   fill(array, inputs, seed, operand)  the values of fill.h
//   fill_parts(array, parts, inputs, seed, operand)  in these parts at least
//   fill_lookups(indices, embedding, seed)  the rows of lookup.h
//   copy(to, from, bytes), replicate(copies), overwrite(copies, from), poison(array)
//   synchronize()
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/embedding/embedding.hpp"

namespace deepbench::plugin {

template <class Memory>
class EmbeddingOperands final : public OutputOperands<Memory> {
  using Array = typename Memory::Array;
  using Copies = typename Memory::Copies;

 public:
  EmbeddingOperands(const Embedding& embedding, const CopyPlan& plan, Inputs inputs, uint64_t seed,
                    Memory device_memory = Memory())
      : OutputOperands<Memory>(std::move(device_memory)),
        embedding_(embedding),
        table_(memory().allocate(uint64_t(embedding.table_bytes()), plan.copies)),
        rows_(memory().allocate(uint64_t(embedding.row_bytes()), plan.copies)),
        indices_(memory().allocate(uint64_t(embedding.index_bytes()), plan.copies)),
        initial_table_(memory().allocate(embedding.is_backward ? table_.bytes() : 0)) {
    memory().fill_lookups(reinterpret_cast<int32_t*>(indices_.at(0)), embedding, seed);
    memory().replicate(indices_);
    memory().fill_parts(table_array(0), rows_to_fill(seed), inputs, seed, Embedding::kStreamTable);
    memory().replicate(table_);
    if (embedding.is_backward)
      make_gradients(inputs, seed);
    else
      poison_outputs();
    memory().synchronize();
  }

  // The bytes that the constructor allocates, and those that flush the caches.
  static uint64_t needed_bytes(const Embedding& embedding, const CopyPlan& plan) {
    uint64_t bytes = plan.flush_bytes;
    for (const int64_t one :
         {embedding.table_bytes(), embedding.row_bytes(), embedding.index_bytes()})
      bytes = saturating_add(bytes, Copies::needed_bytes(uint64_t(one), plan.copies));
    return saturating_add(bytes, embedding.is_backward ? uint64_t(embedding.table_bytes()) : 0);
  }

  std::byte* table(uint64_t copy) const { return table_.at(copy); }
  std::byte* rows(uint64_t copy) const { return rows_.at(copy); }
  const int32_t* indices(uint64_t copy) const {
    return reinterpret_cast<const int32_t*>(indices_.at(copy));
  }

  void describe(Sink& sink) const override {
    if (!embedding_.is_backward) return;
    sink.integer("in_place", 1);
    sink.integer("restore_every", kManyCalls);
  }
  void restore() override {
    if (embedding_.is_backward) memory().overwrite(table_, initial_table_.data());
  }
  void poison_outputs() override {
    if (embedding_.is_backward) return restore();
    for (uint64_t copy = 0; copy < rows_.count(); ++copy) memory().poison(rows_array(copy));
  }

 protected:
  using OutputOperands<Memory>::memory;

  Array output(uint64_t copy) const override {
    return embedding_.is_backward ? table_array(copy) : rows_array(copy);
  }
  const void* restored() const override { return initial_table_.data(); }

 private:
  static constexpr int64_t kManyCalls = 1 << 20;  // calls whose sum stays within the range of float

  Array table_array(uint64_t copy) const {
    return {table_.at(copy), embedding_.table_type(), uint64_t(embedding_.table_elements())};
  }
  Array rows_array(uint64_t copy) const {
    return {rows_.at(copy), embedding_.type(), uint64_t(embedding_.row_elements())};
  }

  // The elements of the table that calls read: all elements for a gradient, and otherwise the rows
  // that are looked up, unless they have so many pages that filling the whole table takes no
  // longer.
  std::vector<ElementRange> rows_to_fill(uint64_t seed) const {
    constexpr uint64_t kPageBytes = 4096, kMinSaving = 16;
    const uint64_t row_bytes = uint64_t(embedding_.dim) * size_of(embedding_.table_type());
    const uint64_t read_bytes =
        saturating_multiply(uint64_t(embedding_.all_lookups()), std::max(row_bytes, kPageBytes));
    if (embedding_.is_backward || read_bytes > uint64_t(embedding_.table_bytes()) / kMinSaving)
      return {{0, uint64_t(embedding_.table_elements())}};
    std::vector<int64_t> rows(size_t(embedding_.all_lookups()));
    for (size_t lookup = 0; lookup < rows.size(); ++lookup)
      rows[lookup] = embedding_.row_of(seed, int64_t(lookup));
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::vector<ElementRange> parts;
    for (const int64_t row : rows)
      parts.push_back({uint64_t(row * embedding_.dim), uint64_t((row + 1) * embedding_.dim)});
    return parts;
  }

  void make_gradients(Inputs inputs, uint64_t seed) {
    memory().copy(initial_table_.data(), table_.at(0), table_.bytes());
    memory().fill(rows_array(0), inputs, seed, Embedding::kStreamDy);
    memory().replicate(rows_);
  }

  const Embedding embedding_;
  const Copies table_, rows_, indices_;
  const typename Memory::Buffer initial_table_;  // for a gradient only
};

}  // namespace deepbench::plugin
