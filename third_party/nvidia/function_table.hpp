// One list of functions a library, from which its table, the table's filling and the test of our
// declarations are made. An entry is X(result, name, (parameters)); the name is the one that the
// library exports, which the vendor's headers may map another to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepbench::nvidia {

// A library without a required function is too old and not used; an optional one may be nullptr.
enum class Need { kRequired, kOptional };

}  // namespace deepbench::nvidia

#define DEEPBENCH_NVIDIA_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
#define DEEPBENCH_NVIDIA_REQUIRED(result, name, parameters) visit(#name, name, Need::kRequired);
#define DEEPBENCH_NVIDIA_OPTIONAL(result, name, parameters) visit(#name, name, Need::kOptional);

// struct Table of function pointers. Calls visit(name, pointer, need) for each.
#define DEEPBENCH_NVIDIA_TABLE(Table, REQUIRED, OPTIONAL) \
  struct Table {                                          \
    REQUIRED(DEEPBENCH_NVIDIA_MEMBER)                     \
    OPTIONAL(DEEPBENCH_NVIDIA_MEMBER)                     \
    template <class Visit>                                \
    void for_each(Visit visit) {                          \
      REQUIRED(DEEPBENCH_NVIDIA_REQUIRED)                 \
      OPTIONAL(DEEPBENCH_NVIDIA_OPTIONAL)                 \
    }                                                     \
  }
