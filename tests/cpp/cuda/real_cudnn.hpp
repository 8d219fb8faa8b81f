// Descriptions to the real cuDNN without a device. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders
// of the libraries, and so does DEEPBENCH_CUDA_LIBRARY_PATH for cudnn().
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "../paths.hpp"

namespace deepbench::cuda_test {

// Runs `body` in a separate process with a driver or a stub of one. Returns true if `body` returned
// true.
inline bool run_in_process_with_driver(const std::function<bool()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string stub = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    const bool is_loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
                           dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!is_loaded) std::fprintf(stderr, "%s\n", dlerror());
    // An exception in the child must not reach the parent's tests, so it terminates the child.
    const auto safely = [&]() noexcept { return body(); };
    _exit(is_loaded && safely() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline bool has_libraries() {
  const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
  const bool is_set = folders && *folders;
  if (!is_set) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return is_set;
}

}  // namespace deepbench::cuda_test
