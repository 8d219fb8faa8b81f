// cuDNN's descriptors of a recurrent layer, owned.
#pragma once

#include "deepbench/ops/rnn/rnn.hpp"
#include "nvidia/cudnn.hpp"
#include "stream.hpp"

namespace deepbench::cuda::dnn {

// How cuDNN computes a precision: types of operands and of sums, and which units it may use.
struct LayerTypes {
  nvidia::cudnnDataType_t data;
  nvidia::cudnnMathType_t math;
};
LayerTypes layer_types(const PrecisionInfo& precision);

// Inputs are skipped: x is added to every gate. There are two vectors of biases, as the persistent
// algorithms demand; of the second only gru's candidate has one that is not zero.
class LayerDescriptors {
 public:
  // Throws plugin::Error, unsupported, where cuDNN's algorithm cannot do the layer.
  LayerDescriptors(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream);
  ~LayerDescriptors();
  LayerDescriptors(const LayerDescriptors&) = delete;
  LayerDescriptors& operator=(const LayerDescriptors&) = delete;

  nvidia::cudnnRNNDescriptor_t layer() const { return layer_; }
  nvidia::cudnnRNNDataDescriptor_t sequence() const { return sequence_; }  // of x and h(t)
  nvidia::cudnnTensorDescriptor_t state() const { return state_; }         // of one step

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
