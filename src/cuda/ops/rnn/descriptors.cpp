// Creates cuDNN's descriptors of a recurrent layer.
#include "ops/rnn/descriptors.hpp"

#include <vector>

#include "cudnn/handle.hpp"
#include "status_check.hpp"

namespace deepbench::cuda::dnn {
namespace {

nvidia::cudnnRNNMode_t mode_of(const std::string& cell) {
  if (cell == "lstm") return nvidia::CUDNN_LSTM;
  return cell == "gru" ? nvidia::CUDNN_GRU : nvidia::CUDNN_RNN_RELU;
}

}  // namespace

// CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION is not used, because it would store float states as half.
LayerTypes layer_types(const PrecisionInfo& precision) {
  switch (precision.precision) {
    case Precision::kHalf:
      return {nvidia::CUDNN_DATA_HALF, nvidia::CUDNN_TENSOR_OP_MATH};
    case Precision::kBfloat16:
      return {nvidia::CUDNN_DATA_BFLOAT16, nvidia::CUDNN_TENSOR_OP_MATH};
    case Precision::kTf32:
      return {nvidia::CUDNN_DATA_FLOAT, nvidia::CUDNN_DEFAULT_MATH};
    default:
      return {nvidia::CUDNN_DATA_FLOAT, nvidia::CUDNN_FMA_MATH};
  }
}

LayerDescriptors::LayerDescriptors(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm,
                                   const Stream& stream) {
  try {
    make();
    set_layer(rnn, algorithm, stream);
    set_sequence(rnn);
  } catch (...) {
    destroy();
    throw;
  }
}

LayerDescriptors::~LayerDescriptors() { destroy(); }

void LayerDescriptors::make() {
  CUDA_CHECK(cudnn().cudnnCreateDropoutDescriptor(&dropout_));
  CUDA_CHECK(cudnn().cudnnCreateRNNDescriptor(&layer_));
  CUDA_CHECK(cudnn().cudnnCreateRNNDataDescriptor(&sequence_));
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&state_));
}

void LayerDescriptors::destroy() {
  if (state_) cudnn().cudnnDestroyTensorDescriptor(state_);
  if (sequence_) cudnn().cudnnDestroyRNNDataDescriptor(sequence_);
  if (layer_) cudnn().cudnnDestroyRNNDescriptor(layer_);
  if (dropout_) cudnn().cudnnDestroyDropoutDescriptor(dropout_);
}

void LayerDescriptors::set_layer(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm,
                                 const Stream& stream) {
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream);
  CUDA_CHECK(cudnn().cudnnSetDropoutDescriptor(dropout_, handle, 0, nullptr, 0, 0));
  const LayerTypes types = layer_types(rnn.precision);
  const auto hidden = int32_t(rnn.hidden);
  CUDA_CHECK_STATUS(
      cudnnSetRNNDescriptor_v8,
      cudnn().cudnnSetRNNDescriptor_v8(
          layer_, algorithm, mode_of(rnn.cell), nvidia::CUDNN_RNN_DOUBLE_BIAS,
          nvidia::CUDNN_UNIDIRECTIONAL, nvidia::CUDNN_SKIP_INPUT, types.data,
          nvidia::CUDNN_DATA_FLOAT, types.math, hidden, hidden, hidden, 1, dropout_, 0));
  if (algorithm == nvidia::CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
    CUDA_CHECK_STATUS(cudnnBuildRNNDynamic,
                      cudnn().cudnnBuildRNNDynamic(handle, layer_, int(rnn.batch)));
}

// All sequences have the same length.
void LayerDescriptors::set_sequence(const Rnn& rnn) {
  const nvidia::cudnnDataType_t type = layer_types(rnn.precision).data;
  const int steps = int(rnn.timesteps), batch = int(rnn.batch), hidden = int(rnn.hidden);
  const std::vector<int> lengths(size_t(batch), steps);
  CUDA_CHECK(cudnn().cudnnSetRNNDataDescriptor(sequence_, type,
                                               nvidia::CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                               steps, batch, hidden, lengths.data(), nullptr));
  const int sizes[] = {1, batch, hidden}, strides[] = {batch * hidden, hidden, 1};
  CUDA_CHECK(cudnn().cudnnSetTensorNdDescriptor(state_, type, 3, sizes, strides));
}

}  // namespace deepbench::cuda::dnn
