// Queries each library in its own way.
#include "library_identity.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace deepbench::cuda {
namespace {

std::string dotted_version(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}
std::string dotted_version(int major, int minor, int patch) {
  return dotted_version(major, minor) + "." + std::to_string(patch);
}

// In CUDA's numbering, 13010 means 13.1.
LibraryIdentity cuda_identity(int version) {
  return {dotted_version(version / 1000, version % 1000 / 10), version / 1000, ""};
}

// The version of a library with a function xxxGetProperty; "" if the function is absent or fails.
template <class Status>
std::string version_by_property(Status (*ask)(nvidia::libraryPropertyType, int*)) {
  int major = 0, minor = 0, patch = 0;
  if (!ask || ask(nvidia::MAJOR_VERSION, &major) != Status(0) ||
      ask(nvidia::MINOR_VERSION, &minor) != Status(0) ||
      ask(nvidia::PATCH_LEVEL, &patch) != Status(0))
    return "";
  return dotted_version(major, minor, patch);
}

// NCCL has no function for this. Its file contains a text such as "2.28.7+cuda13.0" near the
// beginning.
int nccl_cuda_major(const std::string& path) {
  constexpr std::string_view kText = "+cuda";
  std::string head(16 << 20, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), std::streamsize(head.size()));
  head.resize(size_t(file.gcount()));
  for (size_t at = head.find(kText); at != std::string::npos; at = head.find(kText, at + 1))
    if (const int major = std::atoi(head.c_str() + at + kText.size())) return major;
  return 0;
}

// The version in the name of a file, such as 12.1.105 for libnvJitLink.so.12.1.105.
std::string version_of_file(const std::string& path) {
  const size_t at = path.rfind(".so.");
  return at == std::string::npos ? "" : path.substr(at + 4);
}

}  // namespace

LibraryIdentity identify(const nvidia::Driver& table, const std::string&) {
  int version = 0;
  if (!table.cuDriverGetVersion) return {};
  if (const nvidia::CUresult status = table.cuDriverGetVersion(&version))
    return {"", 0, "it does not tell its version (CUresult " + std::to_string(status) + ")"};
  return cuda_identity(version);
}

LibraryIdentity identify(const nvidia::Cudart& table, const std::string&) {
  int version = 0;
  if (!table.cudaRuntimeGetVersion) return {};
  if (const nvidia::cudaError_t status = table.cudaRuntimeGetVersion(&version))
    return {"", 0, "it does not tell its version (cudaError_t " + std::to_string(status) + ")"};
  return cuda_identity(version);
}

LibraryIdentity identify(const nvidia::Nvrtc& table, const std::string&) {
  int major = 0, minor = 0;
  if (!table.nvrtcVersion || table.nvrtcVersion(&major, &minor) != nvidia::NVRTC_SUCCESS) return {};
  return {dotted_version(major, minor), major, ""};
}

LibraryIdentity identify(const nvidia::NvJitLink& table, const std::string& path) {
  unsigned major = 0, minor = 0;
  const std::string file = version_of_file(path);
  if (!table.nvJitLinkVersion ||
      table.nvJitLinkVersion(&major, &minor) != nvidia::NVJITLINK_SUCCESS)
    return {file, std::atoi(file.c_str()), ""};
  return {dotted_version(int(major), int(minor)), int(major), ""};
}

LibraryIdentity identify(const nvidia::CublasLt& table, const std::string&) {
  const size_t cuda = table.cublasLtGetCudartVersion ? table.cublasLtGetCudartVersion() : 0;
  return {version_by_property(table.cublasLtGetProperty), int(cuda / 1000), ""};
}

LibraryIdentity identify(const nvidia::Cublas& table, const std::string&) {
  const std::string version = version_by_property(table.cublasGetProperty);
  return {version, std::atoi(version.c_str()), ""};  // cuBLAS has the major of its CUDA
}

LibraryIdentity identify(const nvidia::Cudnn& table, const std::string&) {
  const size_t cuda = table.cudnnGetCudartVersion ? table.cudnnGetCudartVersion() : 0;
  return {version_by_property(table.cudnnGetProperty), int(cuda / 1000), ""};
}

// cuSPARSE 12.5 is the last release for CUDA 12, and 12.6 the first for CUDA 13.
LibraryIdentity identify(const nvidia::Cusparse& table, const std::string&) {
  const std::string version = version_by_property(table.cusparseGetProperty);
  int minor = 0;
  if (table.cusparseGetProperty) table.cusparseGetProperty(nvidia::MINOR_VERSION, &minor);
  return {version, std::atoi(version.c_str()) == 12 ? (minor >= 6 ? 13 : 12) : 0, ""};
}

LibraryIdentity identify(const nvidia::Nccl& table, const std::string& path) {
  int version = 0;
  if (!table.ncclGetVersion || table.ncclGetVersion(&version) != nvidia::ncclSuccess) return {};
  return {dotted_version(version / 10000, version % 10000 / 100, version % 100),
          nccl_cuda_major(path), ""};
}

LibraryIdentity identify(const nvidia::Nvml& table, const std::string&) {
  if (!table.nvmlInit_v2 || !table.nvmlSystemGetDriverVersion) return {};
  if (const nvidia::nvmlReturn_t status = table.nvmlInit_v2()) {
    const char* text = table.nvmlErrorString ? table.nvmlErrorString(status) : nullptr;
    return {"", 0, text ? text : "nvmlReturn_t " + std::to_string(status)};
  }
  char version[96] = "";  // of the driver
  table.nvmlSystemGetDriverVersion(version, unsigned(sizeof version));
  return {version, 0, ""};
}

LibraryIdentity identify(const nvidia::Nvtx&, const std::string& path) {
  return {path.find("nvtx3") == std::string::npos ? "2" : "3", 0, ""};
}

}  // namespace deepbench::cuda
