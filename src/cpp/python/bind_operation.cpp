// Binds Operation and Parameter, from which the command line derives its arguments and help.
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "deepbench/core/operation.hpp"

namespace py = pybind11;
using deepbench::Operation;
using deepbench::Parameter;
using deepbench::ParameterKind;

namespace {

std::string kind_name(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kInteger:
      return "integer";
    case ParameterKind::kReal:
      return "real";
    case ParameterKind::kChoice:
      break;
  }
  return "choice";
}

py::object default_text(const Parameter& parameter) {
  if (parameter.default_text.empty()) return py::none();
  return py::str(parameter.default_text);
}

// The bound of an integer or a real. None for a choice, or if only the type limits the value.
py::object bound_or_none(const Parameter& parameter, double value) {
  if (parameter.kind == ParameterKind::kChoice || value == Parameter().maximum) return py::none();
  if (parameter.kind == ParameterKind::kReal) return py::float_(value);
  return py::int_(static_cast<int64_t>(value));
}

// The integers, numbers and texts of a dictionary.
deepbench::Attributes to_attributes(const py::dict& values) {
  deepbench::Attributes attributes;
  for (const auto& [key, value] : values) {
    const std::string name = py::str(key);
    if (py::isinstance<py::int_>(value))
      attributes.set(name, value.cast<int64_t>());
    else if (py::isinstance<py::float_>(value))
      attributes.set(name, value.cast<double>());
    else if (py::isinstance<py::str>(value))
      attributes.set(name, value.cast<std::string>());
  }
  return attributes;
}

}  // namespace

void bind_operation(py::module_& module) {
  py::class_<Parameter>(module, "Parameter", "One parameter of an operation.")
      .def_readonly("name", &Parameter::name)
      .def_property_readonly("kind", kind_name, "'integer', 'real' or 'choice'.")
      .def_property_readonly("default", default_text, "As text; None if the parameter is required.")
      .def_readonly("choices", &Parameter::choices)
      .def_readonly("aliases", &Parameter::aliases, "Alternative spellings, each with its choice.")
      .def_property_readonly(
          "minimum", [](const Parameter& p) { return bound_or_none(p, p.minimum); },
          "Smallest value of a number; None for a choice.")
      .def_property_readonly(
          "maximum", [](const Parameter& p) { return bound_or_none(p, p.maximum); },
          "Largest value of a number; None for a choice, and if only the type limits it.")
      .def_readonly("synonyms", &Parameter::synonyms, "Names that other programs give it.")
      .def_property_readonly(
          "title", [](const Parameter& p) { return p.title.empty() ? p.name : p.title; },
          "The title of its column in tables.")
      .def_readonly("help", &Parameter::help);
  py::class_<Operation>(module, "Operation", "An operation and its parameters.")
      .def_property_readonly("name", &Operation::name)
      .def_property_readonly("help", &Operation::help)
      .def_property_readonly("example", &Operation::example)
      .def_property_readonly("group_by", &Operation::group_by,
                             "The attribute by which a report groups rows, or ''.")
      .def_property_readonly("aliases", &Operation::aliases,
                             "Other names that a command line accepts.")
      .def_property_readonly("synonyms", &Operation::synonyms,
                             "Words of other programs, each with the words to suggest instead.")
      .def_property_readonly("is_collective", &Operation::is_collective,
                             "Whether several ranks make a call together.")
      .def(
          "default_problems",
          [](const Operation& operation, const py::dict& device) {
            return operation.default_problems(to_attributes(device));
          },
          py::arg("device"),
          "The problem lines that the name alone stands for where no suite has any, for a device\n"
          "with such facts: integers, numbers and texts count, other values do not.")
      .def_property_readonly("default_problems_help", &Operation::default_problems_help,
                             "What default_problems() returns, for help texts.")
      .def_property_readonly("constants", &Operation::constant_operands,
                             "The operands that may be constant, as in constant=a.")
      .def_property_readonly("parameters", &Operation::parameters);
  module.def("operations", &deepbench::operations, py::return_value_policy::reference,
             "All operations, in display order.");
}
