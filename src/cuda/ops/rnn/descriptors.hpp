// Owning wrappers of cuDNN's descriptors of a recurrent layer.
#pragma once

#include "deepbench/ops/rnn/rnn.hpp"
#include "nvidia/cudnn.hpp"
#include "stream.hpp"

namespace deepbench::cuda::dnn {

// How cuDNN computes a precision: the type of operands and the units that it may use.
struct LayerTypes {
  nvidia::cudnnDataType_t data;
  nvidia::cudnnMathType_t math;
};
LayerTypes layer_types(const PrecisionInfo& precision);

// The input product is skipped: x is added to every gate. There are two bias vectors per gate, as
// the persistent algorithms require; in the second, only that of gru's candidate is nonzero.
class LayerDescriptors {
 public:
  // Throws plugin::Error (unsupported) if cuDNN's algorithm does not support the layer.
  LayerDescriptors(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream);
  ~LayerDescriptors();
  LayerDescriptors(const LayerDescriptors&) = delete;
  LayerDescriptors& operator=(const LayerDescriptors&) = delete;

  nvidia::cudnnRNNDescriptor_t layer() const { return layer_; }
  nvidia::cudnnRNNDataDescriptor_t sequence() const { return sequence_; }  // describes x and h(t)
  nvidia::cudnnTensorDescriptor_t state() const { return state_; }         // describes one step

 private:
  void make();
  void destroy();
  void set_layer(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream);
  void set_sequence(const Rnn& rnn);

  nvidia::cudnnDropoutDescriptor_t dropout_ = nullptr;
  nvidia::cudnnRNNDescriptor_t layer_ = nullptr;
  nvidia::cudnnRNNDataDescriptor_t sequence_ = nullptr;
  nvidia::cudnnTensorDescriptor_t state_ = nullptr;
};

}  // namespace deepbench::cuda::dnn
