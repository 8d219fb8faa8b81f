// Each library has one list of functions. The list generates the table of function pointers, the
// code that fills it, and the test of the declarations. An entry is X(result, name, (parameters)),
// where name is the exported symbol; a macro in the vendor's headers may map another name to it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepbench::nvidia {

// A library that lacks a required function is too old and is rejected; an optional function may be
// nullptr.
enum class Need { kRequired, kOptional };

}  // namespace deepbench::nvidia

#define DEEPBENCH_NVIDIA_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
#define DEEPBENCH_NVIDIA_REQUIRED(result, name, parameters) visit(#name, name, Need::kRequired);
#define DEEPBENCH_NVIDIA_OPTIONAL(result, name, parameters) visit(#name, name, Need::kOptional);

// Defines a struct of function pointers. for_each() calls visit(name, pointer, need) for each of
// them.
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
