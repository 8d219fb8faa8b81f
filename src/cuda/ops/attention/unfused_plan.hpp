// The products and the memory of attention, or of its gradients, that is composed from products.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/ops/attention/attention.hpp"
#include "ops/attention/batched_product.hpp"
#include "ops/attention/softmax.hpp"

namespace deepbench::cuda {

// cuBLASLt is column-major: the scores of a head are K Q^T there, and its output V^T P^T.
struct UnfusedPlan {
  // Throws plugin::Error (unsupported) if the library has no algorithm for a product.
  UnfusedPlan(const Attention& attention, uint64_t workspace_limit, int device);

  // Only for gradients. The gradients of the weights are dO V^T.
  struct Gradients {
    BatchedProduct weights, dq, dk, dv;
  };

  uint64_t score_bytes() const;
  uint64_t weight_bytes() const;  // 0: the weights overwrite the scores
  uint64_t sink_term_bytes() const;
  uint64_t library_bytes() const;  // memory of the product that takes the most
  uint64_t workspace_bytes() const;
  std::string algorithm() const;
  std::string products() const;  // the algorithms of those that algorithm() does not name; or ""

  const Attention attention;
  const BatchedProduct scores, output;
  const SoftmaxPlan softmax;
  const std::unique_ptr<const Gradients> gradients;
};

}  // namespace deepbench::cuda
