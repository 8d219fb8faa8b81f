/* One step of a recurrent layer, as rnn.cu computes it. These are plain structs with the same
 * layout for the host's and the device's compiler. All values are double. The rows of the
 * sequences, with `hidden` elements each, lie one after the other. */
#ifndef DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_
#define DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

#define TINY_POSITIVE 1e-300 /* adding it to a sum does not change the sum */

typedef enum RecurrentCell { CELL_VANILLA, CELL_LSTM, CELL_GRU } RecurrentCell;

typedef struct RecurrentStep {
  uint64_t batch, hidden;
  const double* b; /* [gate][unit]; for gru, b' follows */
  const double* x; /* [n][unit]; added to every gate */
  /* [n][gate][unit]. Input: the recurrent product. The forward pass replaces it by the gates'
   * values, and the backward pass by the gradients of the products. */
  double* gates;
  /* [n][unit]; only for gru: the candidate's recurrent product plus b'. */
  double* candidate_product;
  const double *h_before, *c_before;
  double *h, *c;
} RecurrentStep;

typedef struct RecurrentGradient {
  const double* dy; /* gradient of the step's output */
  /* Input: the gradient of h from the following step. Output: that of h', without the recurrent
   * product. */
  double* dh;
  double* dc; /* the same for c */
  double* dx; /* gradient of the step's input */
} RecurrentGradient;

/* Errors of the states that a library stored: the sum of squared errors, the sum of squares of the
 * expected states, and the number of states outside the tolerance. */
typedef struct RecurrentErrors {
  double error, state;
  uint64_t outliers;
} RecurrentErrors;

#endif /* DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_ */
