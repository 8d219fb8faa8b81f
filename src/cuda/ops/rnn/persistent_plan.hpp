// How a recurrent layer's weights are spread over the device for kernels/persistent.cu, and which
// layers fit. Knows no device but by its facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"
#include "kernels/persistent.h"
#include "ops/rnn/storage.hpp"

namespace deepbench::cuda {

struct PersistentPlan {
  std::string name;  // "units=22": of a block
  PersistentShape shape = {};
  uint32_t blocks = 0, shared_bytes = 0;
};

// Throws plugin::Error, unsupported, with the reason: not this kind of layer, or it does not fit on
// such a device. Otherwise the plans of spreading it, the default first.
std::vector<PersistentPlan> persistent_plans(const Rnn& rnn, const DeviceFacts& device);

// The instance of persistent.cu's kernel.
std::string persistent_expression(const Rnn& rnn, const PersistentPlan& plan);

// Operands; the weights are one matrix after the other.
LayerStorage persistent_storage(const Rnn& rnn);
// What blocks hand on, and the number of the last step.
uint64_t persistent_workspace_bytes(const Rnn& rnn);

}  // namespace deepbench::cuda
