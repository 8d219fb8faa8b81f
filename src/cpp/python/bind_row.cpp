// Binds the writing of rows by the parent of a worker, through the core's assembler. No backend is
// loaded.
#include <pybind11/stl.h>

#include <cmath>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/visit_variance.hpp"
#include "deepbench/run/row/assemble.hpp"
#include "deepbench/run/row/combine_visits.hpp"
#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_text.hpp"

namespace py = pybind11;

namespace {

std::string failed_row(const std::string& problem, int64_t position, const std::string& status,
                       const std::string& reason, const std::string& worker,
                       const std::string& backend, std::optional<int64_t> device,
                       const std::string& device_name) {
  return assemble(deepbench::FailedRow{position, deepbench::Problem::parse(problem), backend,
                                       device, device_name, deepbench::status_named(status), reason,
                                       worker})
      .to_json();
}

// Writes a value of Python's JSON parser. A number keeps its digits, and 1.0 keeps its decimal
// point.
void write_value(const py::handle& value, deepbench::JsonWriter& json) {
  if (value.is_none()) {
    json.null();
  } else if (py::isinstance<py::bool_>(value)) {
    json.value(value.cast<bool>());
  } else if (py::isinstance<py::int_>(value) ||
             (py::isinstance<py::float_>(value) && std::isfinite(value.cast<double>()))) {
    json.literal(std::string(py::repr(value)));
  } else if (py::isinstance<py::str>(value)) {
    json.value(value.cast<std::string>());
  } else if (py::isinstance<py::dict>(value)) {
    json.begin_object();
    for (const auto& [name, member] : py::reinterpret_borrow<py::dict>(value)) {
      json.key(name.cast<std::string>());
      write_value(member, json);
    }
    json.end_object();
  } else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    json.begin_array();
    for (const py::handle item : py::reinterpret_borrow<py::sequence>(value))
      write_value(item, json);
    json.end_array();
  } else {
    throw py::type_error("a row holds values of JSON");
  }
}

std::string line_of_members(const py::dict& members) {
  deepbench::JsonWriter json;
  write_value(members, json);
  return json.str();
}

std::string with_bound_figures(const std::string& row, const py::dict& figures) {
  return deepbench::with_bound_figures(row, line_of_members(figures));
}

}  // namespace

void bind_row(py::module_& module) {
  module.def(
      "failed_row", failed_row, py::arg("problem"), py::kw_only(), py::arg("position"),
      py::arg("status"), py::arg("reason"), py::arg("worker") = "", py::arg("backend") = "",
      py::arg("device") = py::none(), py::arg("device_name") = "",
      "The row of a problem that no worker answered, as JSON. `problem` is a problem line with "
      "its metadata; `worker` is crashed, hung, killed, stopped or skipped, or '' if it still "
      "runs. Raises InvalidProblem, or ValueError for an unknown status.");
  module.def("line_of_members", line_of_members, py::arg("members"),
             "A row or a ceiling, as JSON, from the values of its members, for those that have no "
             "line: of older schema versions, of workbooks, and with counts of their calls. Raises "
             "TypeError for a value that is none of JSON's.");
  module.def("with_bound_figures", with_bound_figures, py::arg("row"), py::arg("figures"),
             "A row, as JSON, whose bound also has these members: the figures of its ceilings and "
             "its shares. Raises ValueError for other text.");
  module.def("sample_index", &deepbench::sample_index, py::arg("i"), py::arg("kept"),
             py::arg("all"), "The index of the i-th of `kept` evenly selected samples of `all`.");
  module.def("with_note", &deepbench::with_note, py::arg("row"), py::arg("note"),
             "A row, as JSON, with one more note. Raises ValueError for other text.");
  module.def(
      "combine_visits", &deepbench::combine_visits, py::arg("rows"),
      "Rows, as JSON, each from the list of its visits, which are rows that are ok, as JSON. "
      "Times are in nanoseconds. Raises ValueError for other text and for an empty list.");
  module.def(
      "student_quantile", &deepbench::student_quantile, py::arg("degrees"),
      "Student's quantile of 97.5 % for any positive degrees of freedom, infinity included.");
  module.def("visit_line", &deepbench::visit_line, py::arg("row"), py::arg("visit"),
             "The line of a visit, as JSON, from the row that was measured, as JSON.");
  module.def("row_of_visit", &deepbench::row_of_visit, py::arg("visit"),
             "The row in the line of a visit, as JSON. Raises ValueError for other text.");
  module.def("thinned", &deepbench::with_thinned_samples, py::arg("row"), py::arg("most"),
             "A row, as JSON, with at most `most` raw samples. Raises ValueError for other text.");
}
