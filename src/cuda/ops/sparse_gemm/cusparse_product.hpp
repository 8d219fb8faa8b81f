// One prepared product of cuSPARSE, on one copy of the operands: its descriptors, the workspace
// that it needs, and its call.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/sparse_gemm/csr.hpp"
#include "ops/sparse_gemm/cusparse_candidates.hpp"
#include "stream.hpp"

namespace deepbench::cuda::sparse {

// What descriptors are made of. Nothing is read before the product is preprocessed or called.
struct ProductOperands {
  Csr a;
  void* b = nullptr;
  void* c = nullptr;
};

class Product {
 public:
  virtual ~Product() = default;

  // Bytes; throws plugin::Error, unsupported with the library's reason, if it refuses.
  virtual uint64_t workspace_bytes() const = 0;
  // The workspace is this product's from then on.
  virtual void preprocess(void* workspace) const = 0;
  // One call, given to the handle's stream.
  virtual nvidia::cusparseStatus_t multiply(void* workspace) const = 0;
};

std::unique_ptr<Product> make_product(const SparseGemm& gemm, const Candidate& candidate,
                                      const ProductOperands& memory, const Stream& stream);

// Throws plugin::Error unless the status is success: unsupported if it says that the library has
// nothing for these operands.
void require_accepted(nvidia::cusparseStatus_t status, const char* function);

}  // namespace deepbench::cuda::sparse
