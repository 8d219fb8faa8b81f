/* Extension: a counter of the energy that a device has consumed. */
#ifndef DEEPBENCH_PLUGIN_ENERGY_H_
#define DEEPBENCH_PLUGIN_ENERGY_H_

#include "deepbench/plugin.h"

#define DEEPBENCH_ENERGY "deepbench.energy/1"

typedef struct deepbench_energy {
  size_t struct_size;

  /* Joules since some start that stays the same for the process. May take milliseconds. A device
   * that has the counter says so in describe_device: energy (integer 1). */
  deepbench_status (*read)(int32_t device, double* joules);
} deepbench_energy;

#endif /* DEEPBENCH_PLUGIN_ENERGY_H_ */
