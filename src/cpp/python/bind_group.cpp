// Binds the ranks of a group: the place of this process, and the rendezvous with the others.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/group/rendezvous.hpp"
#include "deepbench/run/session/open_rendezvous.hpp"

namespace py = pybind11;
using deepbench::Group;
using deepbench::LaunchEnvironment;
using deepbench::Rendezvous;

void bind_group(py::module_& module) {
  py::class_<LaunchEnvironment>(module, "LaunchEnvironment",
                                "The rank of this process and the number of ranks.")
      .def(
          py::init([](int rank, int size, const std::string& address, int port,
                      const std::string& secret, double timeout_s, const std::vector<int>& sockets,
                      const std::string& socket_path) {
            return LaunchEnvironment{rank,   size,      address, port,       "",
                                     secret, timeout_s, sockets, socket_path};
          }),
          py::arg("rank"), py::arg("size"), py::arg("address"), py::arg("port"),
          py::arg("secret") = "", py::arg("timeout_s") = LaunchEnvironment().timeout_s,
          py::arg("sockets") = std::vector<int>(), py::arg("socket_path") = "",
          "`sockets`: descriptors of connected sockets, which the rendezvous takes over: on rank 0 "
          "one to each other rank, on another rank one to rank 0. Without them the ranks connect "
          "to `socket_path`, the Unix socket of ranks of one machine, or else to `address` and "
          "`port`.")
      .def_readonly("rank", &LaunchEnvironment::rank)
      .def_readonly("size", &LaunchEnvironment::size)
      .def_readonly("launcher", &LaunchEnvironment::launcher)
      .def_readonly("socket_path", &LaunchEnvironment::socket_path)
      .def_readonly("meets_by_mpi", &LaunchEnvironment::meets_by_mpi,
                    "The ranks learn by MPI where rank 0 listens: open_rendezvous() starts MPI.")
      .def_readwrite("timeout_s", &LaunchEnvironment::timeout_s);
  module.def("launch_environment", &deepbench::launch_environment,
             "From the variables of torchrun, srun or mpirun; None for a single process. Raises "
             "BackendError for inconsistent variables.");
  module.def("rendezvous_timeout_s", &deepbench::rendezvous_timeout_s,
             "The rendezvous timeout in seconds, DEEPBENCH_RENDEZVOUS_TIMEOUT or the default.");
  py::class_<Group, std::shared_ptr<Group>>(module, "Group", "Connected ranks.")
      .def_property_readonly("rank", &Group::rank)
      .def_property_readonly("size", &Group::size)
      .def("limit_silence_of_rank_zero", &Group::limit_silence_of_rank_zero, py::arg("seconds"),
           "How long this rank waits within a row for an answer of rank 0, which counts as lost "
           "then.")
      .def("close_connection", &Group::close_connection, py::arg("rank"),
           "On rank 0: closes the connection to a rank whose process has ended, which a process "
           "that it has forked may hold open.")
      .def("wait_for_disconnect", &Group::wait_for_disconnect,
           py::call_guard<py::gil_scoped_release>(),
           "Blocks until a rank is lost while this one waits for it in a row, and returns the "
           "reason; '' at the end.")
      .def("end", &Group::end, py::call_guard<py::gil_scoped_release>(),
           "Tells the other ranks and wait_for_disconnect() that there are no more rows.");
  py::class_<Rendezvous>(module, "Rendezvous", "Connects the ranks.")
      .def(py::init([](const LaunchEnvironment& environment, const std::string& command,
                       const std::string& version) {
             return std::make_unique<Rendezvous>(environment,
                                                 deepbench::LaunchIdentity{version, command});
           }),
           py::arg("environment"), py::arg("command"), py::arg("version") = DEEPBENCH_VERSION,
           "Rank 0 listens from construction on. `command` and `version` must be the same on all "
           "ranks.")
      .def_property_readonly("port", &Rendezvous::port)
      .def("warning", &Rendezvous::warning,
           "A line for the user if other machines can join or end the run, because there is no "
           "secret; '' otherwise.")
      .def("wait", &Rendezvous::wait, py::call_guard<py::gil_scoped_release>(),
           "Waits for all ranks and returns the group. Raises BackendError on every rank.");
  module.def(
      "open_rendezvous",
      [](const LaunchEnvironment& environment, const std::string& command,
         const std::function<void(const std::string&)>& end_process) {
        return deepbench::open_rendezvous(environment, {DEEPBENCH_VERSION, command}, end_process);
      },
      py::arg("environment"), py::arg("command"), py::arg("end_process"),
      py::call_guard<py::gil_scoped_release>(),
      "The Rendezvous of a launched rank, which the main thread opens. If MPI does not bring the "
      "ranks together in time, another thread calls `end_process` with the reason, which must end "
      "the process.");
}
