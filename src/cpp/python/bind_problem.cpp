// Binds Problem, which is parsed and validated natively, so that suites, command line and rows
// agree.
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"

namespace py = pybind11;
using deepbench::Problem;

namespace {

py::dict to_dict(const deepbench::Attributes& attributes) {
  py::dict out;
  for (const auto& [name, value] : attributes.items()) out[py::str(name)] = py::cast(value);
  return out;
}

}  // namespace

void bind_problem(py::module_& module) {
  py::register_exception<deepbench::InvalidProblem>(module, "InvalidProblem", PyExc_ValueError);
  py::class_<Problem>(module, "Problem", "An operation and its attributes, complete and valid.")
      .def_static("parse", &Problem::parse, py::arg("text"), py::arg("defaults") = "",
                  "Reads 'gemm m=1 n=2 k=3'. `defaults` is key=value text for what the text lacks; "
                  "raises InvalidProblem.")
      .def_property_readonly("op", &Problem::op)
      .def_property_readonly("attributes",
                             [](const Problem& problem) { return to_dict(problem.attributes()); })
      .def_property_readonly("metadata",
                             [](const Problem& problem) { return to_dict(problem.metadata()); })
      .def_property_readonly(
          "flops", [](const Problem& problem) { return problem.operation().work(problem).flops; },
          "Useful floating-point or integer operations.")
      .def_property_readonly(
          "bytes", [](const Problem& problem) { return problem.operation().work(problem).bytes; },
          "Bytes that must move if every operand is touched once.")
      .def_property_readonly(
          "is_collective",
          [](const Problem& problem) { return problem.operation().is_collective(); },
          "Whether several ranks make a call together.")
      .def_property_readonly(
          "host_elements",
          [](const Problem& problem) {
            return problem.operation().host_generated_elements(problem);
          },
          "Elements that the host generates one after the other for a call; 0: few.")
      .def("__str__", &Problem::str)
      .def("__repr__",
           [](const Problem& problem) { return "Problem.parse('" + problem.str() + "')"; })
      .def("__hash__", [](const Problem& problem) { return py::hash(py::str(problem.str())); })
      .def("__eq__", [](const Problem& left, const py::object& right) {
        return py::isinstance<Problem>(right) && left == right.cast<const Problem&>();
      });
}
