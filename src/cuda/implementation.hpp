// What a file in ops/ implements: one operation through one library, listed in backend.cpp.
#pragma once

#include "deepbench/backend/routing.hpp"

namespace deepbench::cuda {

using plugin::Implementation;
using plugin::LibraryFacts;

// Made on first use; they live as long as the process.
Implementation& cublaslt_gemm();
Implementation& cublas_gemm();
Implementation& cudnn_conv();
Implementation& cudnn_legacy_conv();
Implementation& cudnn_rnn();
Implementation& reference_rnn();
Implementation& runtime_memory();
Implementation& cusparse_sparse_gemm();

}  // namespace deepbench::cuda
