// The ranks of a collective: who this process is, and the meeting with the others.
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "deepbench/group/meeting.hpp"
#include "deepbench/group/placement.hpp"

namespace py = pybind11;
using deepbench::Group;
using deepbench::Meeting;
using deepbench::Placement;

void bind_group(py::module_& module) {
  py::class_<Placement>(module, "Placement", "Which rank of how many this process is.")
      .def(py::init([](int rank, int size, const std::string& address, int port,
                       const std::string& secret, double limit_s) {
             return Placement{rank, size, address, port, "", secret, limit_s};
           }),
           py::arg("rank"), py::arg("size"), py::arg("address"), py::arg("port"),
           py::arg("secret") = "", py::arg("limit_s") = Placement().limit_s)
      .def_readonly("rank", &Placement::rank)
      .def_readonly("size", &Placement::size)
      .def_readonly("started_by", &Placement::started_by);
  module.def("placement", &deepbench::placement,
             "As the variables of torchrun, srun or mpirun say; None for a process alone. Raises "
             "BackendError for variables that make no sense.");
  module.def("ranks_limit", &deepbench::ranks_limit_s,
             "Seconds that all ranks have to come, DEEPBENCH_RANKS_LIMIT or the default.");
  py::class_<Group, std::shared_ptr<Group>>(module, "Group", "Ranks that have met.")
      .def_property_readonly("rank", &Group::rank)
      .def_property_readonly("size", &Group::size)
      .def(
          "wait_for_loss", &Group::wait_for_loss, py::call_guard<py::gil_scoped_release>(),
          "Blocks until a rank is gone and this one is stuck in a row with it: why. '' at the end.")
      .def("end", &Group::end, py::call_guard<py::gil_scoped_release>(),
           "Tells the others that there is no more, and wait_for_loss() that this is the end.");
  py::class_<Meeting>(module, "Meeting", "Where ranks find one another.")
      .def(py::init(
               [](const Placement& place, const std::string& command, const std::string& version) {
                 return std::make_unique<Meeting>(place, deepbench::Terms{version, command});
               }),
           py::arg("place"), py::arg("command"), py::arg("version") = DEEPBENCH_VERSION,
           "Rank 0 listens from here on. `command` and `version` must be the same on all ranks.")
      .def_property_readonly("port", &Meeting::port)
      .def("wait", &Meeting::wait, py::call_guard<py::gil_scoped_release>(),
           "The group, once all ranks are there. Raises BackendError, on all of them.");
}
