// A limit under which this process can start no further thread. It lasts until the process ends.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace deepbench::testing {

// ThreadSanitizer ends a forked process that starts a thread if its parent had several.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kMayStartThreadAfterFork = false;
#else
inline constexpr bool kMayStartThreadAfterFork = true;
#endif

// Returns false if the system does not permit the limit. Root, to which it does not apply, becomes
// another user.
inline bool forbid_more_threads() {
  constexpr uid_t kNobody = 65534;
  const rlimit none{0, 0};
  return setrlimit(RLIMIT_NPROC, &none) == 0 && (geteuid() != 0 || setuid(kNobody) == 0);
}

}  // namespace deepbench::testing
