// The names of NVIDIA's packages on PyPI for each library.
#include "python_packages.hpp"

namespace deepbench::cuda {
namespace {

// Parts of the metapackage cuda-toolkit, which pins them to versions that were released together.
std::string toolkit_parts(const std::string& parts, int cuda_major) {
  return "'cuda-toolkit[" + parts + "]==" + std::to_string(cuda_major) + ".*'";
}

std::string separate_package(const std::string& library, int cuda_major) {
  return "nvidia-" + library + "-cu" + std::to_string(cuda_major);
}

}  // namespace

std::string install_command(int cuda_major) {
  return "pip install " + toolkit_parts("cublas,cudart,cusparse,nvjitlink,nvrtc,nvtx", cuda_major) +
         " " + separate_package("cudnn", cuda_major) + " " + separate_package("nccl", cuda_major);
}

std::string install_command(int cuda_major, const std::string& library) {
  if (library == "cudart") return install_command(cuda_major);
  if (library == "cudnn" || library == "nccl")
    return "pip install " + separate_package(library, cuda_major);
  return "pip install " + toolkit_parts(library == "cublaslt" ? "cublas" : library, cuda_major);
}

}  // namespace deepbench::cuda
