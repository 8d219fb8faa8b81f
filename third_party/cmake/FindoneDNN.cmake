# Finds oneDNN's C header, which the build uses only for its declarations. If oneDNN comes as a
# wheel, the module also finds the library and its licences, which the deepbench package contains.
# No target links to oneDNN, because the CPU backend opens it at run time.
#
# The search order is oneDNN_ROOT, the wheel onednn-devel-cpu-gomp of the Python interpreter that runs
# the build, and CMake's default paths. The module defines oneDNN_FOUND, oneDNN_VERSION and the target
# oneDNN::headers, and also oneDNN_LIBRARY and oneDNN_LICENSES if there is a library to bundle.

# A wheel's files are in the overlay of an isolated build, in a virtual environment or in the user's
# prefix; the wheel's metadata records where. The results are not cached, because the next isolated
# build uses a different folder.
find_package(Python COMPONENTS Interpreter QUIET)
set(onednn_prefix "")
if(Python_EXECUTABLE)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c [=[
import importlib.metadata as metadata
for file in metadata.files("onednn-devel-cpu-gomp") or ():
    if file.parts[-3:] == ("oneapi", "dnnl", "dnnl.h"):
        print(file.locate().resolve().parents[3].as_posix())
]=]
    OUTPUT_VARIABLE onednn_prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h HINTS ${onednn_prefix} PATH_SUFFIXES include NO_CACHE)
if(oneDNN_INCLUDE_DIR)
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" onednn_lines
    REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+)[^0-9]*([0-9]+).*" "\\1.\\2.\\3"
    oneDNN_VERSION "${onednn_lines}")
  get_filename_component(onednn_prefix "${oneDNN_INCLUDE_DIR}" DIRECTORY)
  find_file(oneDNN_LIBRARY libdnnl.so.3 PATHS "${onednn_prefix}/lib" NO_DEFAULT_PATH NO_CACHE)
  find_path(onednn_license_dir THIRD-PARTY-PROGRAMS PATHS "${onednn_prefix}/share/doc/onednn"
    NO_DEFAULT_PATH NO_CACHE)
  if(oneDNN_LIBRARY AND onednn_license_dir)
    set(oneDNN_LICENSES "${onednn_license_dir}/LICENSE" "${onednn_license_dir}/THIRD-PARTY-PROGRAMS")
  else()
    unset(oneDNN_LIBRARY)
  endif()
endif()

include(FindPackageHandleStandardArgs)
set(FPHSA_NAME_MISMATCHED ON)
find_package_handle_standard_args(oneDNN
  REQUIRED_VARS oneDNN_INCLUDE_DIR VERSION_VAR oneDNN_VERSION)
if(oneDNN_FOUND AND NOT TARGET oneDNN::headers)
  add_library(oneDNN::headers INTERFACE IMPORTED)
  target_include_directories(oneDNN::headers SYSTEM INTERFACE "${oneDNN_INCLUDE_DIR}")
endif()
