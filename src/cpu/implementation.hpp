// The routes of this backend: each function is defined in ops/ and returns one operation through
// one library.
#pragma once

#include "deepbench/backend/routing.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {

using plugin::Implementation;
using plugin::LibraryFacts;

// Made on first use; they live until the process ends.
Implementation& onednn_gemm();
Implementation& openblas_gemm();
Implementation& mkl_gemm();
Implementation& onednn_conv();
Implementation& onednn_rnn();
Implementation& reference_rnn();
Implementation& eigen_sparse_gemm();
Implementation& mkl_sparse_gemm();
Implementation& onednn_sparse_gemm();
Implementation& ring_all_reduce();
Implementation& mpi_all_reduce();
Implementation& oneccl_all_reduce();
Implementation& threads_memory();

}  // namespace deepbench::cpu
