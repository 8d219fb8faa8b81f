// The functions that report the identity of a fake library. They read it from a text file beside
// the library, whose name is that of the library plus ".cuda". The first number is the CUDA version
// (12090); 0 makes the library the toolkit's stub, and a number below 1000 is the status with which
// NVML starts. The second number is the status that the driver and the runtime return when they are
// queried for devices; the number of devices is always one.
#include <dlfcn.h>

#include <cstddef>
#include <fstream>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct ConfiguredAnswer {
  int version = 0, status = 0;
};

ConfiguredAnswer configured_answer() {
  Dl_info info{};
  ConfiguredAnswer found;
  if (!dladdr(reinterpret_cast<void*>(&configured_answer), &info)) return found;
  std::ifstream file(std::string(info.dli_fname) + ".cuda");
  file >> found.version;
  if (!(file >> found.status)) found.status = 0;
  return found;
}

int cuda_version() { return configured_answer().version; }

constexpr int kStubLibrary = 34;

int answer_version(int value, int* version) {
  *version = value;
  return 0;
}

int answer_property(int which, int major, int minor, int* value) {
  return answer_version(which == 0 ? major : which == 1 ? minor : 7, value);
}

}  // namespace

EXPORT int cuDriverGetVersion(int* version) {
  answer_version(cuda_version(), version);
  return *version ? 0 : kStubLibrary;
}
EXPORT int cudaRuntimeGetVersion(int* version) { return answer_version(cuda_version(), version); }
EXPORT int cuInit(unsigned) { return configured_answer().status; }
EXPORT int cuDeviceGetCount(int* count) { return answer_version(1, count); }
EXPORT int cudaGetDeviceCount(int* count) {
  answer_version(1, count);
  return configured_answer().status;
}
EXPORT int nvrtcVersion(int* major, int* minor) {
  answer_version(cuda_version() % 1000 / 10, minor);
  return answer_version(cuda_version() / 1000, major);
}
EXPORT int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  *major = unsigned(cuda_version() / 1000), *minor = unsigned(cuda_version() % 1000 / 10);
  return 0;
}
EXPORT size_t cublasLtGetCudartVersion() { return size_t(cuda_version()); }
EXPORT int cublasLtGetProperty(int which, int* value) {
  return answer_property(which, cuda_version() / 1000, cuda_version() % 1000 / 10, value);
}
EXPORT int cublasGetProperty(int which, int* value) { return cublasLtGetProperty(which, value); }
EXPORT size_t cudnnGetCudartVersion() { return size_t(cuda_version()); }
EXPORT int cudnnGetProperty(int which, int* value) { return answer_property(which, 9, 28, value); }
EXPORT int cusparseGetProperty(int which, int* value) {
  return answer_property(which, 12, cuda_version() / 1000 == 13 ? 6 : 5, value);
}
EXPORT int ncclGetVersion(int* version) { return answer_version(22807, version); }
EXPORT int nvmlInit_v2() { return cuda_version() < 1000 ? cuda_version() : 0; }
EXPORT const char* nvmlErrorString(int status) {
  return status == 4 ? "Insufficient Permissions" : "Driver Not Loaded";
}
