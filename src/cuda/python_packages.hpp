// The Python packages that bring NVIDIA's run-time libraries, for messages that name a cure.
#pragma once

#include <string>

namespace deepbench::cuda {

// The command that installs every library this backend calls, for one major of CUDA. It works from
// any folder; the extras cu12 and cu13 of pyproject.toml list the same packages.
std::string install_command(int cuda_major);

// The command for one library, named as in `env`. Where cudart is missing nothing is installed yet,
// so that its command brings all.
std::string install_command(int cuda_major, const std::string& library);

}  // namespace deepbench::cuda
