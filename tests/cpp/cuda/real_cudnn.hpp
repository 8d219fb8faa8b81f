// Descriptions to the real cuDNN without a device. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders
// of the libraries, and so does DEEPBENCH_CUDA_LIBRARY_PATH for cudnn().
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "../forked_process.hpp"
#include "../paths.hpp"

namespace deepbench::cuda_test {

// Runs `body` in a separate process with a driver or a stub of one. Returns true if `body` returned
// true.
inline bool run_in_process_with_driver(const std::function<bool()>& body) {
  testing::ForkedProcess child([&] {
    const std::string stub = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    const bool is_loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
                           dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!is_loaded) std::fprintf(stderr, "%s\n", dlerror());
    return is_loaded && body() ? 0 : 1;
  });
  return child.end() == 0;
}

inline bool has_libraries() {
  const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
  const bool is_set = folders && *folders;
  if (!is_set) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return is_set;
}

}  // namespace deepbench::cuda_test
