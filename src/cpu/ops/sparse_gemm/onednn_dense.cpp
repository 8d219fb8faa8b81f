// The dense baseline through oneDNN's sgemm.
#include "onednn/api.hpp"
#include "ops/sparse_gemm/dense_baseline.hpp"

namespace deepbench::cpu {
namespace {

// oneDNN is row-major; for column-major operands it computes C^T = op(B)^T op(A)^T.
void multiply_by_onednn(const DenseProduct& p) {
  const char trans_a = p.trans_a ? 'T' : 'N', trans_b = p.trans_b ? 'T' : 'N';
  const auto sgemm = onednn::Api::instance().sgemm_f;
  if (p.row_major)
    sgemm(trans_a, trans_b, p.m, p.n, p.k, 1.0f, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc);
  else
    sgemm(trans_b, trans_a, p.n, p.m, p.k, 1.0f, p.b, p.ldb, p.a, p.lda, p.beta, p.c, p.ldc);
}

}  // namespace

DenseLibrary onednn_dense_library() {
  if (!onednn::Api::instance().library().loaded()) return {};
  return {"oneDNN's sgemm", [](int threads) { onednn::Api::instance().use_threads(threads); },
          multiply_by_onednn};
}

}  // namespace deepbench::cpu
