// The row entries about NCCL: its version and the user's settings.
#pragma once

#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The NCCL settings of an environment, such as "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0", or an empty
// string.
std::string nccl_settings(const char* const* environment);

// Writes library, algorithm, workspace_bytes and a note with the settings.
void describe_nccl(const std::string& library, const std::string& algorithm, plugin::Sink& sink);

}  // namespace deepbench::cuda
