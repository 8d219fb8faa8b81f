// MPI without its header: handles are pointers in Open MPI and numbers in MPICH and its kin, and
// both keep theirs from release to release. Which of them a library is, it says itself.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/fill.h"
#include "implementation.hpp"

namespace deepbench::cpu {

// An MPI that has been started, with the few calls of it that we make.
class Mpi {
 public:
  virtual ~Mpi() = default;

  // MPI_Allreduce over all ranks; `mine` and `result` may be the same. Returns MPI's error code.
  virtual int all_reduce(deepbench_type type, const void* mine, void* result, int count) = 0;
  virtual int barrier() = 0;
  virtual std::string error_text(int code) const = 0;
};

// Of the MPI that is, or would be, opened: its version as it tells it, or why there is none.
LibraryFacts mpi_facts();

// Starts MPI at the first call, for which all ranks come at the same time. Throws plugin::Error
// where it and `ranks` do not agree on who this process is.
Mpi& mpi(const plugin::Ranks& ranks);

// Whether mpirun has started this process: without it MPI knows of no other ranks.
bool is_started_by_mpi();

}  // namespace deepbench::cpu
