// The collaborators that the steps of a row work with: backend, device, ranks and ceilings.
#pragma once

#include <functional>

#include "deepbench/core/attributes.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {

class Baselines;
class Ceilings;
class DeviceActivity;
class Group;
class MeasuringHooks;
struct Row;

struct RowContext {
  const Backend& backend;
  Attributes device;  // the facts of describe_device, read for this row
  // The ranks that make the row together, if its operation is a collective. nullptr: this process
  // makes the row alone.
  Group* group = nullptr;
  // Hooks that run while the row's trials are measured. nullptr: there are none.
  MeasuringHooks* hooks = nullptr;
  // The processes of this machine, including this one, that allocate memory for the row at the same
  // time.
  int ranks_sharing_memory = 1;
  // Measures the ceilings of the row. nullptr: the row is not assessed.
  Ceilings* ceilings = nullptr;
  // Measures the baselines of the row. nullptr: the row is compared with none.
  Baselines* baselines = nullptr;
  // Records when the device computed last: a row's sustained load may continue that of the previous
  // row. nullptr: the device has been idle.
  DeviceActivity* activity = nullptr;
  // Whether the energy of a call is measured, over a separate span after the samples.
  bool measures_energy = false;
  // Called when the backend can run the row, before anything is prepared. May be empty.
  std::function<void()> on_admitted = nullptr;
  // Receives the row, complete except for its bound, before the first ceiling is measured for it.
  // Measuring a ceiling may end the process, and the row must survive that. Not called if no
  // ceiling has to be measured. May be empty.
  std::function<void(const Row&)> before_ceilings = nullptr;
};

}  // namespace deepbench
