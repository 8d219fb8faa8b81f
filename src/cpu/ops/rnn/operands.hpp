// The operands of a recurrent layer: their storage, their initial values and the outputs for
// verification. Weights are excluded, because every library stores them in its layout.
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

// The strides of element [gate][unit][j] of U's gradient, in elements.
struct WeightStrides {
  int64_t gate = 0, unit = 0, j = 0;
  uint64_t elements = 0;  // From the first to the last element, including gaps.
};

WeightStrides plain_strides(const Rnn& rnn);

struct LayerStorage {
  Rnn rnn;
  // The type of x and h; U8 for int8, whose values are shifted into its range. Everything else is
  // float in every precision, including int8's output h.
  deepbench_type states = DEEPBENCH_F32;
  // The type of int8's weights: S7 if the full range would saturate.
  deepbench_type integers = DEEPBENCH_S8;
  WeightStrides du;
  uint64_t weight_bytes = 0;  // The size of Wx and U in the library's layout.

  bool is_quantized() const { return states == DEEPBENCH_U8; }
  deepbench_type plain_weights() const { return is_quantized() ? DEEPBENCH_F32 : states; }
  // The bytes of U before its conversion to the library's layout.
  uint64_t plain_weight_bytes() const;
  deepbench_type type(LayerPart part) const;
  uint64_t elements(LayerPart part) const;  // 0 if the phase does not have this part.
  uint64_t bytes(LayerPart part) const;
  uint64_t touched_bytes() const;  // The bytes that one call reads and writes.
  // The bytes of the weights and parts in all copies.
  uint64_t needed_bytes(const CopyPlan& plan) const;
};

class LayerOperands : public Operands {
 public:
  LayerOperands(const LayerStorage& storage, const CopyPlan& plan, Inputs inputs, uint64_t seed);

  const LayerStorage& storage() const { return storage_; }
  const Rnn& rnn() const { return storage_.rnn; }
  uint64_t copies() const { return copies_; }
  void* at(LayerPart part, uint64_t copy) const { return parts_[size_t(part)].at(copy); }

  // The weights in the order of rnn.hpp, in the type of x and h, or in float for quantization.
  Buffer plain_u() const { return weights(Rnn::kStreamU, rnn().recurrent_scale(), rnn().hidden); }
  Buffer plain_wx() const { return weights(Rnn::kStreamWx, Rnn::kScale, rnn().inputs); }

  void describe(plugin::Sink& sink) const override;
  void poison_outputs() override;
  deepbench_scan scan_output(uint64_t copy) const override;
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const override;

 private:
  void fill_part(LayerPart part, uint32_t stream);
  void fill_scaled(void* data, deepbench_type stored, uint64_t count, uint32_t stream,
                   double scale) const;
  // For int8: stores integers of S8 as U8, shifted by half the range.
  void fill_shifted(void* data, uint64_t count, uint32_t stream) const;
  void fill_integers(float* data, uint64_t count, uint32_t stream) const;
  Buffer weights(uint32_t stream, double scale, int64_t columns) const;
  deepbench_type output_type() const;
  double output_element(uint64_t copy, uint64_t index) const;
  const void* outputs_in_order(
      uint64_t copy) const;  // Returns all outputs in verification's order.
  void gather_du(const float* from, float* to) const;

  const LayerStorage storage_;
  const Inputs inputs_;
  const uint64_t seed_, copies_;
  // These values are stored because every read of an element needs them.
  const bool is_forward_;
  const uint64_t dx_elements_, dh0_elements_, outputs_;
  std::array<Copies, kLayerParts> parts_;
  // The outputs in verification's order, if the kernel stores them in another order.
  mutable Buffer ordered_;
};

}  // namespace deepbench::cpu
