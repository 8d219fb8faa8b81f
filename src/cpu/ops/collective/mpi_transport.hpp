// A RingTransport over MPI, between any two ranks that mpirun started. It also serves networks that
// only MPI supports.
#pragma once

#include <memory>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "ops/collective/mpi_api.hpp"
#include "ops/collective/ring_algorithm.hpp"

namespace deepbench::cpu {

class MpiTransport final : public RingTransport {
 public:
  // `mpi` and `ranks` must agree on rank numbers.
  MpiTransport(Mpi& mpi, const plugin::Ranks& ranks);
  void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                    const Consumer& consume) override;

 private:
  struct TransferState;
  void start_sends(TransferState& flow, const std::byte* out);
  void start_receives(TransferState& flow);
  bool send(TransferState& flow);
  bool receive(TransferState& flow, const Consumer& consume);
  bool is_done(TransferState& flow);
  void check(int code, const char* function) const;
  std::byte* receive_buffer_of_piece(uint64_t piece);

  Mpi& mpi_;
  const int right_, left_;
  std::vector<std::byte> pieces_;  // Receive buffers of the pieces in flight.
};

// All ranks call this at the same time. Throws as mpi() does.
std::unique_ptr<RingTransport> connect_mpi(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
