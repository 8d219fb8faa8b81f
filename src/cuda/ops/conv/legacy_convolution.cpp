// cuDNN's legacy API: describes a convolution, queries algorithms and calls one of them.
#include <algorithm>
#include <limits>

#include "cudnn/data_type.hpp"
#include "cudnn/descriptor.hpp"
#include "ops/conv/legacy_plan.hpp"
#include "status_check.hpp"

namespace deepbench::cuda::legacy {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr int kMaxResults = 32;
constexpr float kZero = 0;  // beta

constexpr const char* kForwardNames[] = {
    "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
    "WINOGRAD",      "WINOGRAD_NONFUSED"};
constexpr const char* kDataNames[] = {"ALGO_0",     "ALGO_1",   "FFT",
                                      "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
constexpr const char* kFilterNames[] = {
    "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};

std::vector<int> to_int_sizes(const std::vector<int64_t>& numbers) {
  std::vector<int> all;
  for (const int64_t number : numbers) {
    if (number > std::numeric_limits<int>::max())
      plugin::unsupported("cuDNN's legacy API supports only sizes and strides of 32 bits");
    all.push_back(int(number));
  }
  return all;
}

// A later major version may lack some or all of these functions.
bool has_older_calls() {
  const nvidia::Cudnn& library = cudnn();
  return library.cudnnCreateFilterDescriptor && library.cudnnSetFilterNdDescriptor &&
         library.cudnnCreateConvolutionDescriptor && library.cudnnSetConvolutionNdDescriptor &&
         library.cudnnSetConvolutionGroupCount && library.cudnnSetConvolutionMathType &&
         library.cudnnGetConvolutionForwardAlgorithm_v7 &&
         library.cudnnGetConvolutionBackwardDataAlgorithm_v7 &&
         library.cudnnGetConvolutionBackwardFilterAlgorithm_v7 &&
         library.cudnnGetConvolutionForwardWorkspaceSize &&
         library.cudnnGetConvolutionBackwardDataWorkspaceSize &&
         library.cudnnGetConvolutionBackwardFilterWorkspaceSize &&
         library.cudnnConvolutionForward && library.cudnnConvolutionBackwardData &&
         library.cudnnConvolutionBackwardFilter;
}

void require_accepted(cudnnStatus_t status, const char* what) {
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN's legacy API rejects the " + std::string(what) + ": " +
                        cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnSetNdDescriptor, status);
}

UniqueCudnn<cudnnTensorDescriptor_t> make_activations(const ConvTensor& tensor) {
  cudnnTensorDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&made));
  UniqueCudnn<cudnnTensorDescriptor_t> owned(made);
  const std::vector<int> sizes = to_int_sizes(tensor.sizes),
                         strides = to_int_sizes(tensor.strides());
  require_accepted(
      cudnn().cudnnSetTensorNdDescriptor(made, dnn::data_type(tensor.type), int(sizes.size()),
                                         sizes.data(), strides.data()),
      "tensor");
  return owned;
}

UniqueCudnn<cudnnFilterDescriptor_t> make_filters(const ConvTensor& tensor) {
  cudnnFilterDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateFilterDescriptor(&made));
  UniqueCudnn<cudnnFilterDescriptor_t> owned(made);
  const std::vector<int> sizes = to_int_sizes(tensor.sizes);
  const auto format = tensor.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  require_accepted(cudnn().cudnnSetFilterNdDescriptor(made, dnn::data_type(tensor.type), format,
                                                      int(sizes.size()), sizes.data()),
                   "filter");
  return owned;
}

UniqueCudnn<cudnnConvolutionDescriptor_t> make_convolution(const Conv& conv, bool is_int8) {
  cudnnConvolutionDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateConvolutionDescriptor(&made));
  UniqueCudnn<cudnnConvolutionDescriptor_t> owned(made);
  const auto spatial = [&](int64_t depth, int64_t height, int64_t width) {
    return to_int_sizes(conv.is_3d() ? std::vector<int64_t>{depth, height, width}
                                     : std::vector<int64_t>{height, width});
  };
  const auto padding = spatial(conv.pad_d, conv.pad_h, conv.pad_w);
  const auto strides = spatial(conv.stride_d, conv.stride_h, conv.stride_w);
  const auto dilation = spatial(conv.dilation_d, conv.dilation_h, conv.dilation_w);
  require_accepted(cudnn().cudnnSetConvolutionNdDescriptor(
                       made, int(padding.size()), padding.data(), strides.data(), dilation.data(),
                       CUDNN_CROSS_CORRELATION, is_int8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT),
                   "convolution");
  require_accepted(cudnn().cudnnSetConvolutionGroupCount(made, int(conv.groups)), "groups");
  return owned;
}

}  // namespace

std::string name_of(ConvPhase phase, int number) {
  const auto name = [&](const auto& names) {
    const bool known = number >= 0 && size_t(number) < std::size(names);
    return known ? std::string(names[number]) : "#" + std::to_string(number);
  };
  return phase == ConvPhase::kForward        ? name(kForwardNames)
         : phase == ConvPhase::kBackwardData ? name(kDataNames)
                                             : name(kFilterNames);
}

Convolution::Convolution(const ConvLayout& layout, cudnnHandle_t handle)
    : phase_(layout.executed.phase),
      is_float_(layout.executed.precision.precision == Precision::kFloat),
      is_int8_(layout.executed.precision.precision == Precision::kInt8),
      scale_(float(layout.executed.output_scale())),
      handle_(handle) {
  if (!has_older_calls())
    plugin::unsupported(
        "this version of cuDNN has no cudnnConvolutionForward and related functions");
  x_ = make_activations(layout.x);
  w_ = make_filters(layout.w);
  y_ = make_activations(layout.y);
  convolution_ = make_convolution(layout.executed, is_int8_);
  const bool tensor_cores = size_of(layout.executed.precision.a) < 4;
  set_math(is_float_ ? CUDNN_FMA_MATH : tensor_cores ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH);
}

void Convolution::set_math(cudnnMathType_t math) const {
  CUDA_CHECK(cudnn().cudnnSetConvolutionMathType(convolution_.get(), math));
}

std::vector<Algorithm> Convolution::algorithms() const {
  int count = 0;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::vector<Algorithm> found;
  if (phase_ == ConvPhase::kForward) {
    std::vector<cudnnConvolutionFwdAlgoPerf_t> results(kMaxResults);
    status = cudnn().cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_.get(), w_.get(),
                                                            convolution_.get(), y_.get(),
                                                            kMaxResults, &count, results.data());
    found = usable_algorithms(results, status == CUDNN_STATUS_SUCCESS ? count : 0);
  } else if (phase_ == ConvPhase::kBackwardData) {
    std::vector<cudnnConvolutionBwdDataAlgoPerf_t> results(kMaxResults);
    status = cudnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(
        handle_, w_.get(), y_.get(), convolution_.get(), x_.get(), kMaxResults, &count,
        results.data());
    found = usable_algorithms(results, status == CUDNN_STATUS_SUCCESS ? count : 0);
  } else {
    std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> results(kMaxResults);
    status = cudnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle_, x_.get(), y_.get(), convolution_.get(), w_.get(), kMaxResults, &count,
        results.data());
    found = usable_algorithms(results, status == CUDNN_STATUS_SUCCESS ? count : 0);
  }
  if (!is_cudnn_refusal(status)) CUDA_CHECK_STATUS(cudnnGetConvolutionAlgorithm_v7, status);
  size_t bytes = 0;
  constexpr int kPrecomputed = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  if (found.empty() && is_int8_ && query_workspace(kPrecomputed, &bytes) == CUDNN_STATUS_SUCCESS)
    found.push_back({kPrecomputed, CUDNN_TENSOR_OP_MATH, bytes, false});
  return found;
}

template <class Perf>
std::vector<Algorithm> Convolution::usable_algorithms(const std::vector<Perf>& results,
                                                      int count) const {
  std::vector<Algorithm> all;
  for (int i = 0; i < std::min(count, int(results.size())); ++i) {
    const Perf& result = results[size_t(i)];
    if (result.status != CUDNN_STATUS_SUCCESS) continue;
    const bool known = std::any_of(all.begin(), all.end(), [&](const Algorithm& one) {
      return one.number == int(result.algo);
    });
    if (known ||
        (is_float_ && result.mathType != CUDNN_FMA_MATH && result.mathType != CUDNN_DEFAULT_MATH))
      continue;
    Algorithm made{int(result.algo), is_float_ ? CUDNN_FMA_MATH : result.mathType, result.memory,
                   result.determinism == CUDNN_NON_DETERMINISTIC};
    size_t bytes = 0;
    set_math(made.math);
    if (query_workspace(made.number, &bytes) != CUDNN_STATUS_SUCCESS) continue;
    made.workspace_bytes = bytes;
    all.push_back(made);
  }
  return all;
}

cudnnStatus_t Convolution::query_workspace(int number, size_t* bytes) const {
  if (phase_ == ConvPhase::kForward)
    return cudnn().cudnnGetConvolutionForwardWorkspaceSize(
        handle_, x_.get(), w_.get(), convolution_.get(), y_.get(),
        cudnnConvolutionFwdAlgo_t(number), bytes);
  if (phase_ == ConvPhase::kBackwardData)
    return cudnn().cudnnGetConvolutionBackwardDataWorkspaceSize(
        handle_, w_.get(), y_.get(), convolution_.get(), x_.get(),
        cudnnConvolutionBwdDataAlgo_t(number), bytes);
  return cudnn().cudnnGetConvolutionBackwardFilterWorkspaceSize(
      handle_, x_.get(), y_.get(), convolution_.get(), w_.get(),
      cudnnConvolutionBwdFilterAlgo_t(number), bytes);
}

cudnnStatus_t Convolution::call(const Algorithm& algorithm, void* x, void* w, void* y,
                                void* workspace) const {
  if (phase_ == ConvPhase::kForward)
    return cudnn().cudnnConvolutionForward(handle_, &scale_, x_.get(), x, w_.get(), w,
                                           convolution_.get(),
                                           cudnnConvolutionFwdAlgo_t(algorithm.number), workspace,
                                           algorithm.workspace_bytes, &kZero, y_.get(), y);
  if (phase_ == ConvPhase::kBackwardData)
    return cudnn().cudnnConvolutionBackwardData(
        handle_, &scale_, w_.get(), w, y_.get(), y, convolution_.get(),
        cudnnConvolutionBwdDataAlgo_t(algorithm.number), workspace, algorithm.workspace_bytes,
        &kZero, x_.get(), x);
  return cudnn().cudnnConvolutionBackwardFilter(
      handle_, &scale_, x_.get(), x, y_.get(), y, convolution_.get(),
      cudnnConvolutionBwdFilterAlgo_t(algorithm.number), workspace, algorithm.workspace_bytes,
      &kZero, w_.get(), w);
}

}  // namespace deepbench::cuda::legacy
