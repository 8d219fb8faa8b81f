// The Python packages that contain NVIDIA's runtime libraries, for messages that name a remedy.
#pragma once

#include <string>

namespace deepbench::cuda {

// The command that installs every library of this backend, for one major of CUDA. It works in any
// folder. The extras cu12 and cu13 of pyproject.toml list the same packages.
std::string install_command(int cuda_major);

// The command for one library, named as in `env`. For cudart it installs every library: without
// cudart, none is installed yet.
std::string install_command(int cuda_major, const std::string& library);

}  // namespace deepbench::cuda
