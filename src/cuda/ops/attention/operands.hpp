// The operands of attention in device memory.
#pragma once

#include "deepbench/backend/attention_operands.hpp"
#include "device_memory.hpp"

namespace deepbench::cuda {

using AttentionOperands = plugin::AttentionOperands<DeviceMemory>;

}  // namespace deepbench::cuda
