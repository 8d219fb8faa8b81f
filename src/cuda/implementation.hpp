// The routes of this backend: each function is defined in ops/ and returns one operation through
// one library.
#pragma once

#include "deepbench/backend/routing.hpp"
#include "libraries.hpp"

namespace deepbench::cuda {

using plugin::Implementation;
using plugin::LibraryFacts;

// The facts of the library with this table of functions.
template <class Table>
LibraryFacts facts_of() {
  return report<Table>();
}

// Made on first use; they live until the process ends.
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
