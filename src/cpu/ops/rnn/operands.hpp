// The operands of a recurrent layer in memory, its weights aside, which every library stores in its
// own way: where they lie, how they come into being, and what verification asks of the outputs.
#pragma once

#include <array>
#include <cstdint>

#include "copies.hpp"
#include "deepbench/ops/rnn/rnn.hpp"
#include "operand.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

// Inputs first, then outputs in the order of rnn.hpp.
enum class LayerPart { kX, kBias, kH0, kC0, kDy, kY, kDx, kDh0, kDu };
inline constexpr size_t kLayerParts = 9;

// Where element [gate][unit][j] of U's gradient lies, counted in elements.
struct WeightStrides {
  int64_t gate = 0, unit = 0, j = 0;
  uint64_t elements = 0;  // from the first to the last, gaps included
};

WeightStrides plain_strides(const Rnn& rnn);

struct LayerStorage {
  Rnn rnn;
  // x and h; everything else is float in every precision, and so is h as int8 gives it. Of int8
  // U8, which the values are shifted to.
  deepbench_type states = DEEPBENCH_F32;
  deepbench_type integers = DEEPBENCH_S8;  // of int8's weights: S7 where all bits would saturate
  WeightStrides du;
  uint64_t weight_bytes = 0;  // Wx and U, as the library stores them

  bool is_quantised() const { return states == DEEPBENCH_U8; }
  deepbench_type plain_weights() const { return is_quantised() ? DEEPBENCH_F32 : states; }
  uint64_t plain_weight_bytes() const;  // of U on its way into the library's layout
  deepbench_type type(LayerPart part) const;
  uint64_t elements(LayerPart part) const;  // 0: the phase has no such part
  uint64_t bytes(LayerPart part) const;
  uint64_t touched_bytes() const;                     // by one call
  uint64_t needed_bytes(const CopyPlan& plan) const;  // weights and parts of all copies
};

class LayerOperands : public Operands {
 public:
  LayerOperands(const LayerStorage& storage, const CopyPlan& plan, Inputs inputs, uint64_t seed);

  const LayerStorage& storage() const { return storage_; }
  const Rnn& rnn() const { return storage_.rnn; }
  uint64_t copies() const { return copies_; }
  void* at(LayerPart part, uint64_t copy) const { return parts_[size_t(part)].at(copy); }

  // As rnn.hpp orders them, stored as x and h are, or as float that is to be quantised.
  Buffer plain_u() const { return weights(Rnn::kStreamU, rnn().recurrent_scale(), rnn().hidden); }
  Buffer plain_wx() const { return weights(Rnn::kStreamWx, Rnn::kScale, rnn().inputs); }

  void describe(plugin::Sink& sink) const override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  void fill_part(LayerPart part, uint32_t stream);
  void fill_scaled(void* data, deepbench_type stored, uint64_t count, uint32_t stream,
                   double scale) const;
  // int8: as U8, integers of S8 are shifted by half the range.
  void fill_shifted(void* data, uint64_t count, uint32_t stream) const;
  void fill_integers(float* data, uint64_t count, uint32_t stream) const;
  Buffer weights(uint32_t stream, double scale, int64_t columns) const;
  deepbench_type output_type() const;
  double output(uint64_t copy, uint64_t index) const;
  const void* in_order(uint64_t copy) const;  // all outputs
  void gather_du(const float* from, float* to) const;

  const LayerStorage storage_;
  const Inputs inputs_;
  const uint64_t seed_, copies_;
  // Asked for with every element that is read.
  const bool is_forward_;
  const uint64_t dx_elements_, dh0_elements_, outputs_;
  std::array<Copies, kLayerParts> parts_;
  mutable Buffer ordered_;  // where they do not lie in their order
};

}  // namespace deepbench::cpu
