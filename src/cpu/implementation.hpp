// The shared part of the files in ops/: each defines one operation through one library, a route of
// routes.def.
#pragma once

#include "deepbench/backend/implementation.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {

using plugin::Implementation;
using plugin::LibraryFacts;

inline constexpr const char* kLoop = "loop";  // the candidate of libraries that have no other

}  // namespace deepbench::cpu
