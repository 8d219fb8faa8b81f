/* A libcuda.so.1 for machines without a driver: it allows loading a part of cuDNN that is linked
 * with the driver, finalizing descriptors, and asking for the engines of a stated device. Every
 * function reports that there is no device. */
enum { kNoDevice = 100 };

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
FUNCTION(cuLibraryGetKernel)
FUNCTION(cuLibraryLoadData)
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
