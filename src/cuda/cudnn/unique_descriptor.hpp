// Owning pointers to descriptors of cuDNN's legacy API.
#pragma once

#include <memory>
#include <type_traits>

#include "libraries.hpp"

namespace deepbench::cuda {

struct CudnnDeleter {
  void operator()(nvidia::cudnnTensorDescriptor_t object) const {
    cudnn().cudnnDestroyTensorDescriptor(object);
  }
  void operator()(nvidia::cudnnFilterDescriptor_t object) const {
    cudnn().cudnnDestroyFilterDescriptor(object);
  }
  void operator()(nvidia::cudnnConvolutionDescriptor_t object) const {
    cudnn().cudnnDestroyConvolutionDescriptor(object);
  }
  void operator()(nvidia::cudnnActivationDescriptor_t object) const {
    cudnn().cudnnDestroyActivationDescriptor(object);
  }
  void operator()(nvidia::cudnnPoolingDescriptor_t object) const {
    cudnn().cudnnDestroyPoolingDescriptor(object);
  }
  void operator()(nvidia::cudnnLRNDescriptor_t object) const {
    cudnn().cudnnDestroyLRNDescriptor(object);
  }
};

template <class Handle>
using UniqueCudnn = std::unique_ptr<std::remove_pointer_t<Handle>, CudnnDeleter>;

}  // namespace deepbench::cuda
