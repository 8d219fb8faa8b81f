// Binds Runner, which returns rows as lines of JSON from the core, the only writer of rows.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/chain/chain_request.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/session/runner.hpp"

namespace py = pybind11;
using deepbench::Runner;

void bind_runner(py::module_& module) {
  using Paths = std::vector<std::string>;
  py::class_<Runner>(module, "Runner", "Runs problem lines on one backend.")
      .def(py::init<const std::string&, const std::string&, const Paths&,
                    std::shared_ptr<deepbench::Group>>(),
           py::arg("backend"), py::arg("options") = "", py::arg("plugin_paths") = Paths{},
           py::arg("group") = nullptr, py::call_guard<py::gil_scoped_release>(),
           "`backend` is 'auto', a name or a path; `options` is key=value text, the defaults of "
           "every row. "
           "Raises BackendError, or InvalidProblem for an option.")
      .def("follow_rank_zero", &Runner::follow_rank_zero, py::call_guard<py::gil_scoped_release>(),
           "For ranks other than 0: makes the rows that rank 0 runs, until there are no more. "
           "Raises "
           "RuntimeError when a rank is lost.")
      .def("hello", &Runner::hello,
           "The hello message, the first line of the worker's protocol, as JSON.")
      .def(
          "run",
          [](Runner& runner, const std::string& line, int64_t position) {
            return runner.run(line, position).to_json();
          },
          py::arg("line"), py::arg("position"), py::call_guard<py::gil_scoped_release>(),
          "One row as JSON, from 'problem ; options'. Never raises for a bad problem.")
      .def("on_admitted", &Runner::on_admitted, py::arg("call"),
           "Calls call() when the backend can run a row, before the row is measured.")
      .def("on_measuring_ceiling", &Runner::on_measuring_ceiling, py::arg("call"),
           "Calls call(problem, row) before each problem of a ceiling. The first time in a row, "
           "`row` "
           "is the row without its bound, as JSON; otherwise it is empty.")
      .def("on_ceiling", &Runner::on_ceiling, py::arg("call"),
           "Calls call(line) with each ceiling as JSON, as soon as it is measured or raised.")
      .def("give_ceiling", &Runner::give_ceiling, py::arg("line"),
           "Takes over a ceiling of another process, 'ceiling KEY ; figure=NUMBER raised=NUMBER', "
           "of "
           "which one may be absent. To be called before the first row. Raises InvalidProblem.")
      .def(
          "run_chain",
          [](Runner& runner, const std::string& line) { return runner.run_chain(line).to_json(); },
          py::arg("line"), py::call_guard<py::gil_scoped_release>(),
          "The line of a chain as JSON, from 'chain 0 1 0 ; PROBLEM ; PROBLEM'. Never raises for "
          "a chain that cannot be run.")
      .def("release", &Runner::release, py::call_guard<py::gil_scoped_release>(),
           "Destroys the last row's kernel; otherwise the next row does.")
      .def("wait_for_ranks", &Runner::wait_for_ranks, py::call_guard<py::gil_scoped_release>(),
           "On rank 0, waits until all ranks have destroyed the last row's kernel. Raises "
           "RuntimeError when a rank is lost.")
      .def_property_readonly("device_lost", &Runner::device_lost);

  module.def(
      "backends",
      [](const Paths& paths) {
        std::vector<std::pair<std::string, std::string>> out;
        for (const auto& found : deepbench::find_backends(paths))
          out.emplace_back(found.name, found.path);
        return out;
      },
      py::arg("plugin_paths") = Paths{}, "(name, path) of each plugin found, without loading it.");
  module.def("search_warnings", &deepbench::search_warnings,
             "The paths in DEEPBENCH_BACKEND_PATH that hold no backend, one line each.");
  module.def("inspect", &deepbench::inspect, py::arg("backend"), py::arg("plugin_paths") = Paths{},
             "The hello message of a backend, or the reason why it is unusable, as JSON.");
  module.def("gives_ceiling", &deepbench::is_ceiling_line, py::arg("line"),
             "Whether a line of the row protocol gives a ceiling, and is no problem.");
  module.def("asks_for_chain", &deepbench::is_chain_line, py::arg("line"),
             "Whether a line of the row protocol asks for a chain, and is no problem.");
  module.def(
      "check_options", [](const std::string& text) { deepbench::RunOptions().apply(text); },
      py::arg("text"), "Raises InvalidProblem for an unknown option or a bad value.");
  module.def(
      "option_values",
      [](const std::string& text) {
        deepbench::RunOptions options;
        options.apply(text);
        py::dict values;
        for (const auto& [key, value] : options.values())
          values[py::str(key)] =
              value.empty() ? py::object(py::none()) : py::object(py::str(value));
        return values;
      },
      py::arg("text"),
      "Every option that holds for all rows of a run with the value that it has after `text`; "
      "None: "
      "the backend's choice, or nothing. Raises InvalidProblem as check_options does.");
  module.def("package_directory", &deepbench::package_directory,
             "The folder of the native library, the plugins, include/ and lib/cmake/.");
}
