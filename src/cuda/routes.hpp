// The routes of the CUDA backend, in order of preference within an operation. The function
// library_op() of a route is defined in ops/<op>/<library>.cpp. A new route adds its line.
#pragma once

#include "deepbench/backend/route_table.hpp"

#define DEEPBENCH_CUDA_ROUTES(ROUTE)         \
  ROUTE(gemm, cublaslt, kCompeting)          \
  ROUTE(gemm, cublas, kChoosable)            \
  ROUTE(gemm, skinny, kCompeting)            \
  ROUTE(gemm, skinny_mma, kCompeting)        \
  ROUTE(conv, cudnn, kChoosable)             \
  ROUTE(conv, cudnn_legacy, kChoosable)      \
  ROUTE(rnn, cudnn, kCompeting)              \
  ROUTE(rnn, persistent, kCompeting)         \
  ROUTE(rnn, reference, kInternal)           \
  ROUTE(memory, runtime, kChoosable)         \
  ROUTE(sparse_gemm, cusparse, kChoosable)   \
  ROUTE(all_reduce, nccl, kCompeting)        \
  ROUTE(all_reduce, nccl_single, kCompeting) \
  ROUTE(all_reduce, peer, kCompeting)

namespace deepbench::cuda {
DEEPBENCH_ROUTE_TABLE(DEEPBENCH_CUDA_ROUTES)
}  // namespace deepbench::cuda
