// The shared part of the files in ops/: each defines one operation through one library, a route of
// routes.def.
#pragma once

#include "deepbench/backend/implementation.hpp"
#include "libraries.hpp"

namespace deepbench::cuda {

using plugin::Implementation;
using plugin::LibraryFacts;

// The facts of the library with this table of functions.
template <class Table>
LibraryFacts library_facts_of() {
  return report<Table>();
}

}  // namespace deepbench::cuda
