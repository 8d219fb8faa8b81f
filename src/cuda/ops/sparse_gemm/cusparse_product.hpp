// One prepared product of cuSPARSE on one copy of the operands: its descriptors, its workspace
// size, and its call.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/sparse_gemm/csr.hpp"
#include "ops/sparse_gemm/cusparse_candidates.hpp"
#include "stream.hpp"

namespace deepbench::cuda::sparse {

// The memory that the descriptors refer to. It is not read until the product is preprocessed or
// called.
struct ProductOperands {
  Csr a;
  void* b = nullptr;
  void* c = nullptr;
};

class Product {
 public:
  virtual ~Product() = default;

  // The workspace size. Throws plugin::Error (unsupported) with the library's reason if the library
  // does not support the product.
  virtual uint64_t workspace_bytes() const = 0;
  // Preprocesses the product; from then on the workspace belongs to this product.
  virtual void preprocess(void* workspace) const = 0;
  // Enqueues one call on the handle's stream.
  virtual nvidia::cusparseStatus_t multiply(void* workspace) const = 0;
};

std::unique_ptr<Product> make_product(const SparseGemm& gemm, const Candidate& candidate,
                                      const ProductOperands& memory, const Stream& stream);

// Throws plugin::Error unless the status is success: unsupported if the status means that the
// library does not support these operands.
void require_accepted(nvidia::cusparseStatus_t status, const char* function);

}  // namespace deepbench::cuda::sparse
