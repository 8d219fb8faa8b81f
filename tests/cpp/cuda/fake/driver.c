/* libcuda.so.1 where there is no driver: a part of cuDNN that is linked with it can then be loaded,
 * and descriptors finalized. Every function says that there is no device. */
enum { kNoDevice = 100 };

#define FUNCTION(name) \
  __attribute__((visibility("default"))) int name(void) { return kNoDevice; }

FUNCTION(cuGetErrorString)
FUNCTION(cuModuleGetFunction)
FUNCTION(cuModuleLoadData)
FUNCTION(cuModuleUnload)
FUNCTION(cuTensorMapEncodeIm2col)
FUNCTION(cuTensorMapEncodeTiled)
