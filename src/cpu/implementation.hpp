// What a file in ops/ implements: one operation through one library, listed in backend.cpp.
#pragma once

#include "deepbench/backend/routing.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {

using plugin::Implementation;
using plugin::LibraryFacts;

// Made on first use; they live as long as the process.
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
