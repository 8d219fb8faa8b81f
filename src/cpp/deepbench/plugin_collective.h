/* Extension: collectives, whose calls several ranks make together. */
#ifndef DEEPBENCH_PLUGIN_COLLECTIVE_H_
#define DEEPBENCH_PLUGIN_COLLECTIVE_H_

#include "deepbench/plugin.h"

#define DEEPBENCH_COLLECTIVE "deepbench.collective/1"

/* The processes of a collective, and how they speak to one another before anything is timed. Unlike
 * all else that the core passes in, what this struct points to stays valid as long as the process.
 */
typedef struct deepbench_group {
  size_t struct_size;
  int32_t rank;
  int32_t size;
  void* context;
  /* Gathers `bytes` from every rank into all[rank * bytes]; returns when all have spoken. For join
   * and prepare, which every rank must then call it from alike; a function that gets anything but
   * DEEPBENCH_OK from it returns that status. */
  deepbench_status (*exchange)(void* context, const void* mine, size_t bytes, void* all);
  int32_t local_rank; /* among the ranks of this machine: which of its devices is this rank's */
  int32_t local_size; /* how many ranks this machine has */
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
