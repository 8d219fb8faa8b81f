// What a file in ops/ implements: one operation through one library, listed in backend.cpp.
#pragma once

#include "deepbench/backend/routing.hpp"
#include "libraries.hpp"

namespace deepbench::cuda {

using plugin::Implementation;
using plugin::LibraryFacts;

// Of the library whose table of functions it is.
template <class Table>
LibraryFacts facts_of() {
  return report<Table>();
}

// Made on first use; they live as long as the process.
Implementation& cublaslt_gemm();
Implementation& cublas_gemm();
Implementation& skinny_gemm();
Implementation& skinny_mma_gemm();
Implementation& cudnn_conv();
Implementation& cudnn_legacy_conv();
Implementation& cudnn_rnn();
Implementation& persistent_rnn();
Implementation& reference_rnn();
Implementation& runtime_memory();
Implementation& cusparse_sparse_gemm();
Implementation& nccl_all_reduce();
Implementation& nccl_single_all_reduce();
Implementation& peer_all_reduce();

}  // namespace deepbench::cuda
