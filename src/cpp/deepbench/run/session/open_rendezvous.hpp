// Opens the rendezvous of a launched rank. Ranks on several machines that an MPI started and that
// no variable tells where rank 0 is learn that from rank 0 by MPI: it broadcasts its addresses, its
// port and a secret. All other messages between ranks go over the rendezvous's connections.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/group/rendezvous.hpp"

namespace deepbench {

// To be called on the main thread, which also makes all later calls of MPI. Throws
// BackendUnavailable. If MPI has not brought the ranks together within environment.timeout_s,
// another thread calls `end_process` with the reason, which must not return: a wait within MPI has
// no other end.
DEEPBENCH_API std::unique_ptr<Rendezvous> open_rendezvous(
    const LaunchEnvironment& environment, const LaunchIdentity& identity,
    const std::function<void(const std::string& message)>& end_process);

}  // namespace deepbench
