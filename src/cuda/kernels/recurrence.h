/* One step of a recurrent layer, as rnn.cu computes it: plain structs, the same for the host's
 * compiler and the device's. Everything is in double; rows of `hidden` elements, one for each
 * sequence, lie one after the other. */
#ifndef DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_
#define DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

#define TINY_POSITIVE 1e-300 /* added to a sum it changes nothing */

typedef enum RecurrentCell { CELL_VANILLA, CELL_LSTM, CELL_GRU } RecurrentCell;

typedef struct RecurrentStep {
  uint64_t batch, hidden;
  const double* b; /* [gate][unit]; of gru b' follows */
  const double* x; /* [n][unit]: added to every gate */
  /* [n][gate][unit]: in comes the recurrent product, then the gates' values; the way back leaves
   * the gradients of the products in their place. */
  double* gates;
  double* candidate_product; /* [n][unit]; gru: the candidate's product with b' */
  const double *h_before, *c_before;
  double *h, *c;
} RecurrentStep;

typedef struct RecurrentGradient {
  const double* dy; /* of the step's output */
  double* dh;       /* in: of h from the step behind; out: of h', but for the recurrent product */
  double* dc;       /* the same of c */
  double* dx;       /* of the step's input */
} RecurrentGradient;

/* Of states that a library kept: sums of squares of their errors and of what they should be, and
 * how many are far off. */
typedef struct RecurrentErrors {
  double error, state;
  uint64_t outliers;
} RecurrentErrors;

#endif /* DEEPBENCH_CUDA_KERNELS_RECURRENCE_H_ */
