// The user's settings of NCCL, which rows show.
#pragma once

#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The NCCL settings of an environment, such as "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0", or an empty
// string.
std::string nccl_settings(const char* const* environment);

// Emits a note with the settings of this process, if there are any.
void describe_nccl_settings(plugin::Sink& sink);

}  // namespace deepbench::cuda
