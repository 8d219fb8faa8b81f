// What a row says of NCCL: its version, and what the user has set for it.
#pragma once

#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0" of an environment; empty if there is nothing.
std::string nccl_settings(const char* const* environment);

// library, algorithm, workspace_bytes, and a note of what is set.
void describe_nccl(const std::string& library, const std::string& algorithm, plugin::Sink& sink);

}  // namespace deepbench::cuda
