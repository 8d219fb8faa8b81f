// MPI without its header: handles are pointers in Open MPI and numbers in MPICH and its kin, and
// both keep theirs from release to release. Which of them a library is, it says itself.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/fill.h"
#include "implementation.hpp"

namespace deepbench::cpu {

// A transfer under way: as all handles, a pointer or a number.
union Request {
  void* pointer;
  int number;
};

// An MPI that has been started, with the few calls of it that we make.
class Mpi {
 public:
  virtual ~Mpi() = default;

  // MPI_Allreduce over all ranks; `input` and `result` may be the same. Returns MPI's error code.
  virtual int all_reduce(deepbench_type type, const void* input, void* result, int count) = 0;
  virtual int barrier() = 0;
  // MPI_Isend, MPI_Irecv of bytes, of one tag for all, and MPI_Test of either. Return MPI's error
  // codes too.
  virtual int start_send(const void* data, int bytes, int to, Request* request) = 0;
  virtual int start_receive(void* data, int bytes, int from, Request* request) = 0;
  virtual int test(Request* request, bool* done) = 0;
  virtual std::string error_text(int code) const = 0;
};

// Of the MPI that is, or would be, opened: its version as it tells it, or why there is none.
LibraryFacts mpi_facts();

// Starts MPI at the first call, for which all ranks come at the same time. Throws plugin::Error
// where it and `ranks` do not agree on who this process is.
Mpi& mpi(const plugin::Ranks& ranks);

// Why MPI cannot be used here: mpirun has not started this process, so that MPI knows of no other
// ranks, or there is no library; "" where it can. `words` ask for it on the command line.
std::string mpi_unavailable_reason(const std::string& words);

}  // namespace deepbench::cpu
