/* A libcuda.so.1 for machines without a driver: it allows loading a part of cuDNN that is linked
 * with the driver and finalizing descriptors. Every function reports that there is no device. */
enum { kNoDevice = 100 };

#define FUNCTION(name) \
  __attribute__((visibility("default"))) int name(void) { return kNoDevice; }

FUNCTION(cuGetErrorString)
FUNCTION(cuModuleGetFunction)
FUNCTION(cuModuleLoadData)
FUNCTION(cuModuleUnload)
FUNCTION(cuTensorMapEncodeIm2col)
FUNCTION(cuTensorMapEncodeTiled)
