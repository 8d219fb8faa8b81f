// Determines the place at which the ranks of one machine connect: a Unix socket in a folder that
// only their user can enter. Every launch has its own socket.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// The path of the socket, which is the same on all ranks of a launch. The folder is `deepbench` in
// `runtime_folder` (XDG_RUNTIME_DIR) if that is a folder of this user; otherwise it is
// /tmp/deepbench-UID. srun and sudo pass on the variable although the folder is missing or belongs
// to another user.
DEEPBENCH_API std::string local_socket_path(const std::string& runtime_folder,
                                            const std::string& launch_id);

// The beginning of the name of every such socket of this machine. Machines may share a folder
// through a network, but a socket accepts connections of its own machine only.
DEEPBENCH_API std::string local_socket_prefix();

// Creates the folder of `path` unless it exists. Throws BackendUnavailable if it is a link, belongs
// to another user or is open to others.
DEEPBENCH_API void make_private_folder_of(const std::string& path);

}  // namespace deepbench
