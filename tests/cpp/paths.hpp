// The folders of the source and the build that tests open. Only paths.cpp is compiled with these
// paths, so that the objects of all other files are the same in any folder.
#pragma once

namespace deepbench::testing {

const char* source_folder();
const char* plugin_folder();     // the fake backends
const char* fake_cuda_folder();  // stand-ins for NVIDIA's libraries
const char* stage_folder();      // the libraries, in the package's layout

}  // namespace deepbench::testing
