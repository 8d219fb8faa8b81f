// What the files in ops/ share: each defines one operation through one library, a route of
// routes.def.
#pragma once

#include "deepbench/backend/implementation.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {

using plugin::Implementation;
using plugin::LibraryFacts;

inline constexpr const char* kLoop = "loop";  // the candidate of what has no other

}  // namespace deepbench::cpu
