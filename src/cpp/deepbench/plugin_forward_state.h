/* Extension: a reference kernel that starts from the forward pass of the kernel that it verifies.
 *
 * A gradient depends on the side of each kink on which the forward pass lies. Where the reference
 * differentiates at the very states that the kernel has left, rounding cannot put both on different
 * sides.
 */
#ifndef DEEPBENCH_PLUGIN_FORWARD_STATE_H_
#define DEEPBENCH_PLUGIN_FORWARD_STATE_H_

#include "deepbench/plugin.h"

#define DEEPBENCH_FORWARD_STATE "deepbench.forward_state/1"

/* The reference's judgment of the states that a kernel's forward pass left. */
typedef enum deepbench_forward_states {
  DEEPBENCH_STATES_WRONG = -1,  /* each is close to the problem's, but all are wrong: incorrect */
  DEEPBENCH_STATES_UNKNOWN = 0, /* none, or those of something else: the reference uses its own */
  DEEPBENCH_STATES_ADOPTED = 1  /* the problem's, up to rounding: the reference starts from them */
} deepbench_forward_states;

typedef struct deepbench_forward_state {
  size_t struct_size;

  /* `reference` is a kernel of the library "reference" for the problem and inputs of `kernel`.
   * *states is a deepbench_forward_states; the status DEEPBENCH_UNSUPPORTED says the same as
   * DEEPBENCH_STATES_UNKNOWN. */
  deepbench_status (*adopt)(deepbench_kernel* reference, deepbench_kernel* kernel, int32_t* states);
} deepbench_forward_state;

#endif /* DEEPBENCH_PLUGIN_FORWARD_STATE_H_ */
