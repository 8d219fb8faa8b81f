// The distribution of a recurrent layer's weights over the device for kernels/persistent.cu, and
// the layers that fit. Depends on the device only through its facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"
#include "kernels/persistent.h"
#include "ops/rnn/storage.hpp"

namespace deepbench::cuda {

struct PersistentPlan {
  std::string name;  // "units=22": units per block
  PersistentShape shape = {};
  uint32_t blocks = 0, shared_bytes = 0;
  int64_t padded_hidden = 0;  // the columns of U and the states of h in whole pairs of tiles
};

// Returns the plans for distributing the layer, the default first. Throws plugin::Error
// (unsupported) with the reason if this kind of layer is not supported or the layer does not fit on
// the device.
std::vector<PersistentPlan> persistent_plans(const Rnn& rnn, const DeviceFacts& device);

// The instance of the kernel in persistent.cu.
std::string persistent_expression(const Rnn& rnn, const PersistentPlan& plan);

// The layout of the operands. The matrices of the weights follow one another.
LayerStorage persistent_storage(const Rnn& rnn);
// The size of the mailbox, through which blocks exchange states, and of the step counter.
uint64_t persistent_workspace_bytes(const Rnn& rnn);

}  // namespace deepbench::cuda
