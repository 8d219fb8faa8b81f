/* Extension: several kernels as one call.
 *
 * A model is a sequence of calls. Timed as one, they pay for what the sum of their own times leaves
 * out: what one call leaves in the caches for the next, and the gaps between different kernels.
 */
#ifndef DEEPBENCH_PLUGIN_CHAIN_H_
#define DEEPBENCH_PLUGIN_CHAIN_H_

#include "deepbench/plugin.h"

#define DEEPBENCH_CHAIN "deepbench.chain/1"

typedef struct deepbench_chain {
  size_t struct_size;

  /* Makes *chain, a kernel that makes one call of each of the `count` kernels, in this order and
   * one after the other, and counts them as one call. A kernel may stand in the list many times;
   * each of its calls within the chain takes another copy of its operands than the one before it,
   * and the last of them takes the copy that read_output reads. The kernels are of the same device,
   * are not in use otherwise, and outlive the chain. The core calls describe_kernel, time_batch and
   * destroy of a chain, and no other function. DEEPBENCH_UNSUPPORTED where one of the kernels
   * cannot take part. */
  deepbench_status (*link)(deepbench_kernel* const* kernels, size_t count,
                           deepbench_kernel** chain);
} deepbench_chain;

#endif /* DEEPBENCH_PLUGIN_CHAIN_H_ */
