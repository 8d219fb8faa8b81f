# Finds Eigen's headers. Eigen has no library to link: it is compiled into the CPU backend.
#
# The search order is Eigen_ROOT, the wheel cmeel-eigen of the Python interpreter that runs the build,
# and CMake's default paths. The module defines Eigen_FOUND, Eigen_VERSION and Eigen_INCLUDE_DIR. Its
# name is not FindEigen3, because Eigen itself installs a package of that name.
find_package(Python COMPONENTS Interpreter QUIET)
set(eigen_prefix "")
if(Python_EXECUTABLE)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c [=[
import importlib.metadata as metadata
for file in metadata.files("cmeel-eigen") or ():
    if file.parts[-4:] == ("include", "eigen3", "Eigen", "SparseCore"):
        print(file.locate().resolve().parents[1].as_posix())
]=]
    OUTPUT_VARIABLE eigen_prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

find_path(Eigen_INCLUDE_DIR Eigen/SparseCore HINTS ${eigen_prefix} PATH_SUFFIXES include/eigen3
  eigen3 NO_CACHE)
if(Eigen_INCLUDE_DIR)
  file(STRINGS "${Eigen_INCLUDE_DIR}/Eigen/src/Core/util/Macros.h" eigen_lines
    REGEX "^#define EIGEN_(WORLD|MAJOR|MINOR)_VERSION ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+)[^0-9]*([0-9]+).*" "\\1.\\2.\\3"
    Eigen_VERSION "${eigen_lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Eigen
  REQUIRED_VARS Eigen_INCLUDE_DIR VERSION_VAR Eigen_VERSION)
