// A recurrent layer and its gradients in double on the device, composed of cuBLAS products and
// built-in pointwise kernels (kernels/rnn.cu).
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "deepbench/ops/rnn/rnn.hpp"
#include "deepbench/plugin.h"
#include "kernels/jit.hpp"
#include "kernels/recurrence.h"
#include "nvidia/cublas.hpp"
#include "operand.hpp"
#include "prepared_kernel.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class Composition {
 public:
  // Operands hold the elements of fill.h as the problem's precision stores them. The input product
  // is skipped.
  Composition(const Rnn& rnn, Inputs inputs, uint64_t seed, Stream& stream);

  static uint64_t needed_bytes(const Rnn& rnn);

  // Checks h(t) of another kernel's forward pass, which are given in the problem's precision. If
  // each state follows from the previous one up to rounding, gradients start from these states;
  // otherwise they start from a forward pass in double.
  deepbench_forward_states adopt_states(const ForwardState& pass);

  // Enqueues the whole phase. output() then holds the output in the order of rnn.hpp.
  void run() const;
  double* output() const { return at(output_, 0); }

 private:
  static double* at(const Buffer& buffer, int64_t index) {
    return reinterpret_cast<double*>(buffer.data()) + index;
  }
  void fill(const Buffer& to, uint32_t stream_number, double scale) const;

  int64_t row() const { return rnn_.gates() * rnn_.hidden; }  // the gates of one sequence
  double* states(const Buffer& buffer, int64_t t) const { return at(buffer, t * rnn_.states()); }
  double* gates(int64_t t) const { return at(gates_, t * rnn_.batch * row()); }
  RecurrentStep recurrent_step(int64_t t) const;
  // Computes the recurrent products of `steps` steps from t on.
  void multiply_forward(int64_t t, int64_t steps) const;
  void forward() const;
  // Recomputes all steps from the adopted states and stores the results in the memory of
  // dx.
  void recompute_forward() const;
  void match_relu_slopes(const void* input_gradients, double tolerance) const;
  void backward(int64_t t) const;
  void copy_outputs() const;

  // Computes column-major C = op(A) op(B) + beta C.
  struct Factor {
    const double* data;
    int64_t leading;
    bool transposed;
  };
  void multiply(int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b, double beta,
                double* c, int64_t leading) const;

  Rnn rnn_;
  Inputs inputs_;
  uint64_t seed_;
  Stream& stream_;
  int32_t cell_;
  nvidia::cublasHandle_t handle_;
  const Function &forward_, &backward_;
  LaunchShape shape_;
  Buffer x_, u_, b_, dy_;
  Buffer h_, c_;                      // [t][n][unit], beginning with the initial state
  Buffer gates_, candidate_product_;  // [t][n][gate][unit], [t][n][unit]
  Buffer dh_, dc_, dx_;
  Buffer output_;
  bool has_adopted_states_ = false;  // h holds the states of another kernel's forward pass
};

}  // namespace deepbench::cuda
