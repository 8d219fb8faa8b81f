// Defines the paths that tests/CMakeLists.txt passes.
#include "paths.hpp"

namespace deepbench::testing {

const char* source_folder() { return DEEPBENCH_TEST_SOURCE_DIR; }
const char* plugin_folder() { return DEEPBENCH_TEST_PLUGIN_DIR; }
const char* fake_cuda_folder() { return DEEPBENCH_TEST_FAKE_CUDA_DIR; }
const char* stage_folder() { return DEEPBENCH_TEST_STAGE_DIR; }

}  // namespace deepbench::testing
