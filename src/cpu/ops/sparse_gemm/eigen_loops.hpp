// Implements EigenProducts with Eigen. One source file per vector unit includes this header, is
// compiled for that unit and first renames Eigen's namespace. Without the new names, functions that
// are not inlined would have the same symbol in both files and the linker would discard one
// version.
#pragma once

#define EIGEN_DONT_PARALLELIZE  // deepbench's threads share the work.
#define EIGEN_MPL2_ONLY
#define EIGEN_NO_AUTOMATIC_RESIZING
#include <Eigen/SparseCore>
#include <algorithm>

#include "ops/sparse_gemm/eigen_products.hpp"

namespace deepbench::cpu {
namespace {

using Sparse = Eigen::Map<const Eigen::SparseMatrix<float, Eigen::RowMajor, int>>;
template <int kOrder>
using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, kOrder>;
template <int kOrder>
using In = Eigen::Map<const Dense<kOrder>, 0, Eigen::OuterStride<>>;
template <int kOrder>
using Out = Eigen::Map<Dense<kOrder>, 0, Eigen::OuterStride<>>;

Sparse sparse_of(const EigenPart& p, int64_t row, int64_t rows) {
  return {rows, p.inner, p.nnz, p.offsets + row, p.indices, p.values};
}

template <bool kTransA, int kOrderB, int kOrderC>
void multiply(const EigenPart& p) {
  const Sparse a = sparse_of(p, 0, p.rows);
  const In<kOrderB> b(p.b, kTransA ? p.rows : p.inner, p.columns, Eigen::OuterStride<>(p.b_stride));
  Out<kOrderC> c(p.c, kTransA ? p.inner : p.rows, p.columns, Eigen::OuterStride<>(p.c_stride));
  if constexpr (kTransA)
    c.noalias() += a.transpose() * b;
  else
    c.noalias() += a * b;
}

void transpose(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
               int64_t columns) {
  const In<Eigen::ColMajor> source(from, rows, columns, Eigen::OuterStride<>(from_stride));
  Out<Eigen::RowMajor>(to, rows, columns, Eigen::OuterStride<>(to_stride)) = source;
}

void multiply_tiles(const EigenPart& p, float* scratch) {
  const In<Eigen::RowMajor> b(p.b, p.inner, p.columns, Eigen::OuterStride<>(p.b_stride));
  for (int64_t row = 0; row < p.rows; row += EigenProducts::kTileRows) {
    const int64_t rows = std::min(EigenProducts::kTileRows, p.rows - row);
    Out<Eigen::RowMajor> tile(scratch, rows, p.columns, Eigen::OuterStride<>(p.columns));
    tile.setZero();
    tile.noalias() += sparse_of(p, row, rows) * b;
    Out<Eigen::ColMajor> c(p.c + row, rows, p.columns, Eigen::OuterStride<>(p.c_stride));
    c += tile;
  }
}

constexpr EigenProducts products_of(const char* unit) {
  constexpr auto by_columns = Eigen::ColMajor, by_rows = Eigen::RowMajor;
  return {unit,
          {{{multiply<false, by_columns, by_columns>, multiply<false, by_columns, by_rows>},
            {multiply<false, by_rows, by_columns>, multiply<false, by_rows, by_rows>}},
           {{multiply<true, by_columns, by_columns>, multiply<true, by_columns, by_rows>},
            {multiply<true, by_rows, by_columns>, multiply<true, by_rows, by_rows>}}},
          transpose,
          multiply_tiles};
}

}  // namespace
}  // namespace deepbench::cpu
