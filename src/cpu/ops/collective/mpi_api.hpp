// Calls MPI's collectives without its header (deepbench/backend/mpi_library.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/ops/collective/collective.hpp"
#include "implementation.hpp"

namespace deepbench::cpu {

// A transfer in progress. Like every handle, it is a pointer or a number.
union Request {
  void* pointer;
  int number;
};

// An initialized MPI library, with the calls that deepbench makes.
class Mpi {
 public:
  virtual ~Mpi() = default;

  // Makes the collective's call (mpi_function()) and returns MPI's error code. If the collective
  // has one array, `input` and `result` are the same.
  virtual int call(const Collective& collective, const void* input, void* result) = 0;
  virtual int barrier() = 0;
  // These wrap MPI_Isend and MPI_Irecv of bytes, all with the same tag, and MPI_Test of either.
  // They return MPI's error code.
  virtual int start_send(const void* data, int bytes, int to, Request* request) = 0;
  virtual int start_receive(void* data, int bytes, int from, Request* request) = 0;
  virtual int test(Request* request, bool* done) = 0;
  virtual std::string error_text(int code) const = 0;
};

// The function that computes the collective: "MPI_Allreduce".
const char* mpi_function(CollectiveKind kind);

// The version of the MPI library as it reports it and its path, or the reason why there is no
// usable library.
LibraryFacts mpi_facts();

// Starts MPI at the first call, which all ranks make at the same time. Throws plugin::Error if MPI
// and `ranks` disagree about this process's rank or the number of ranks.
Mpi& mpi(const plugin::Ranks& ranks);

// Returns why MPI cannot be used here, or "" if it can: there is no library, or mpirun did not
// start this process, so that MPI knows no other ranks. `words` are the operation and the
// command-line words that select MPI; the message quotes them.
std::string mpi_unavailable_reason(const std::string& words);

}  // namespace deepbench::cpu
