// Reads the name of the machine and the boot id of Linux.
#include "deepbench/group/machine_identity.hpp"

#include <unistd.h>

#include <fstream>

namespace deepbench {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string machine_identity() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return std::string(name) + " " + boot_id();
}

}  // namespace deepbench
