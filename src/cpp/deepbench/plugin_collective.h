/* Extension: collectives, whose calls several ranks make together. */
#ifndef DEEPBENCH_PLUGIN_COLLECTIVE_H_
#define DEEPBENCH_PLUGIN_COLLECTIVE_H_

#include "deepbench/plugin.h"

#define DEEPBENCH_COLLECTIVE "deepbench.collective/1"

/* The processes of a collective, and the means by which they exchange data before anything is
 * timed. Unlike all else that the core passes in, the data that this struct refers to stays valid
 * as long as the process. */
typedef struct deepbench_group {
  size_t struct_size;
  int32_t rank;
  int32_t size;
  void* context;
  /* Gathers `bytes` from every rank into all[rank * bytes]; returns when all ranks have
   * contributed. For join and prepare, which must then call it in the same way on every rank. A
   * function that receives any other status than DEEPBENCH_OK from it returns that status. */
  deepbench_status (*exchange)(void* context, const void* mine, size_t bytes, void* all);
  int32_t local_rank; /* number among this machine's ranks; determines the rank's device */
  int32_t local_size; /* number of ranks on this machine */
  const char*
      address; /* numeric, at which other ranks reach this machine: "127.0.0.1", "fd00::1" */
  /* 1 once a rank has ended, or has failed where others wait for it: every wait for the group must
   * then end. May be called from any thread at any time; takes some microseconds every few
   * milliseconds. */
  int32_t (*must_abort)(void* context);
} deepbench_group;

typedef struct deepbench_collective {
  size_t struct_size;

  /* Makes this process a rank of a group, once, before any plan. From then on all ranks, at the
   * same time and with the same arguments, call plan, prepare, time_batch, restore, poison_outputs
   * and destroy for a problem whose operation is a collective; other problems are each rank's own.
   * In time_batch the ranks meet, by the backend's own means, before any of them reads its clock
   * for the first call. A call that cannot end since another rank has ended must return
   * DEEPBENCH_DEVICE_LOST where the backend can tell; where it cannot, the host ends the process.
   */
  deepbench_status (*join)(const deepbench_group* group);
} deepbench_collective;

#endif /* DEEPBENCH_PLUGIN_COLLECTIVE_H_ */
