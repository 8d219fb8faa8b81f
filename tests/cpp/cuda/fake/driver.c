/* A libcuda.so.1 for machines without a driver: it allows loading a part of cuDNN that is linked
 * with the driver, finalizing descriptors, and asking for the engines of a stated device and
 * building them. Every function reports that there is no device, except for those that load code,
 * which it counts. */
enum { kSuccess = 0, kNoDevice = 100 };

static int loaded_libraries = 0;

__attribute__((visibility("default"))) int deepbench_loaded_libraries(void) {
  return loaded_libraries;
}

__attribute__((visibility("default"))) int cuLibraryLoadData(void** library) {
  ++loaded_libraries;
  *library = &loaded_libraries; /* never read */
  return kSuccess;
}

__attribute__((visibility("default"))) int cuLibraryGetKernel(void** kernel) {
  *kernel = &loaded_libraries;
  return kSuccess;
}

#define FUNCTION(name) \
  __attribute__((visibility("default"))) int name(void) { return kNoDevice; }

FUNCTION(cuCtxGetCurrent)
FUNCTION(cuCtxGetLimit)
FUNCTION(cuCtxPopCurrent)
FUNCTION(cuCtxPushCurrent)
FUNCTION(cuDeviceGet)
FUNCTION(cuDeviceGetCount)
FUNCTION(cuDriverGetVersion)
FUNCTION(cuGetErrorName)
FUNCTION(cuGetErrorString)
FUNCTION(cuKernelGetAttribute)
FUNCTION(cuKernelGetFunction)
FUNCTION(cuKernelSetAttribute)
FUNCTION(cuLaunchCooperativeKernel)
FUNCTION(cuLaunchKernel)
FUNCTION(cuLaunchKernelEx)
FUNCTION(cuLibraryLoadFromFile)
FUNCTION(cuLibraryUnload)
FUNCTION(cuLinkAddData)
FUNCTION(cuLinkComplete)
FUNCTION(cuLinkCreate)
FUNCTION(cuLinkDestroy)
FUNCTION(cuModuleGetFunction)
FUNCTION(cuModuleLoadData)
FUNCTION(cuModuleUnload)
FUNCTION(cuOccupancyMaxPotentialClusterSize)
FUNCTION(cuStreamGetCtx)
FUNCTION(cuTensorMapEncodeIm2col)
FUNCTION(cuTensorMapEncodeTiled)
