// Neighbours by MPI, between any two ranks that its mpirun has started: what only MPI drives.
#pragma once

#include <memory>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "ops/all_reduce/mpi_api.hpp"
#include "ops/all_reduce/ring.hpp"

namespace deepbench::cpu {

class MpiNeighbours final : public Neighbours {
 public:
  // Ranks of `mpi` are those of `ranks`.
  MpiNeighbours(Mpi& mpi, const plugin::Ranks& ranks);
  void pass(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes, const Take& take) override;

 private:
  struct Flow;
  void start_sends(Flow& flow, const std::byte* out);
  void start_receives(Flow& flow);
  bool send(Flow& flow);
  bool receive(Flow& flow, const Take& take);
  bool is_done(Flow& flow);
  void check(int code, const char* function) const;
  std::byte* room_for(uint64_t piece);

  Mpi& mpi_;
  const int right_, left_;
  std::vector<std::byte> pieces_;  // those that may be coming
};

// All ranks at the same time. Throws as mpi() does.
std::unique_ptr<Neighbours> connect_by_mpi(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
