// The routes of the CPU backend, in order of preference within an operation. The function
// library_op() of a route is defined in ops/<op>/<library>.cpp. A new route adds its line.
#pragma once

#include "deepbench/backend/route_table.hpp"

#define DEEPBENCH_CPU_ROUTES(ROUTE)      \
  ROUTE(gemm, onednn, kChoosable)        \
  ROUTE(gemm, openblas, kChoosable)      \
  ROUTE(gemm, mkl, kChoosable)           \
  ROUTE(conv, onednn, kChoosable)        \
  ROUTE(rnn, onednn, kChoosable)         \
  ROUTE(rnn, reference, kInternal)       \
  ROUTE(sparse_gemm, eigen, kChoosable)  \
  ROUTE(sparse_gemm, mkl, kChoosable)    \
  ROUTE(sparse_gemm, onednn, kChoosable) \
  ROUTE(all_reduce, ring, kCompeting)    \
  ROUTE(all_reduce, mpi, kCompeting)     \
  ROUTE(all_reduce, oneccl, kCompeting)  \
  ROUTE(memory, threads, kInternal)

namespace deepbench::cpu {
DEEPBENCH_ROUTE_TABLE(DEEPBENCH_CPU_ROUTES)
}  // namespace deepbench::cpu
