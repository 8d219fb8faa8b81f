// deepbench._core: the native core for Python. Python handles configuration, sweeps and reports;
// the core handles everything that is measured or verified.
#include <pybind11/pybind11.h>

#include "bindings.hpp"
#include "deepbench/core/status.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native core of deepbench: problems, operations and the runner of rows.";
  module.attr("version") = DEEPBENCH_VERSION;
  pybind11::register_exception<deepbench::BackendUnavailable>(module, "BackendError",
                                                              PyExc_RuntimeError);
  bind_assessment(module);
  bind_operation(module);
  bind_problem(module);
  bind_group(module);
  bind_row(module);
  bind_runner(module);
}
