// A limit under which this process can start no further thread. It lasts until the process ends.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace deepbench::testing {

// Returns false if the system does not permit the limit. Root, to which it does not apply, becomes
// another user.
inline bool forbid_more_threads() {
  constexpr uid_t kNobody = 65534;
  const rlimit none{0, 0};
  return setrlimit(RLIMIT_NPROC, &none) == 0 && (geteuid() != 0 || setuid(kNobody) == 0);
}

}  // namespace deepbench::testing
