// Transfers one pass in pieces. Both sides divide a pass in the same way, and messages with the
// same tag between two ranks arrive in order. Several pieces are in flight, so that a rank adds one
// piece while the next one arrives.
#include "ops/collective/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ops/collective/spin_backoff.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kMpiPieceBytes = 256 << 10;  // A piece stays in the cache until it is added.
constexpr uint64_t kInFlight = 2;               // The number of pieces in each direction.

}  // namespace

// The state of the transfer in one direction during one pass.
struct MpiTransport::TransferState {
  explicit TransferState(uint64_t all)
      : bytes(all), pieces((all + kMpiPieceBytes - 1) / kMpiPieceBytes) {}

  bool has_ended() const { return ended == pieces; }
  bool can_start() const { return started < pieces && started - ended < kInFlight; }
  Request& request_of(uint64_t piece) { return requests[piece % kInFlight]; }
  static uint64_t begin_of(uint64_t piece) { return piece * kMpiPieceBytes; }
  uint64_t bytes_of(uint64_t piece) const {
    return std::min(kMpiPieceBytes, bytes - begin_of(piece));
  }

  const uint64_t bytes, pieces;
  uint64_t started = 0, ended = 0;  // Both count pieces.
  std::array<Request, kInFlight> requests{};
};

MpiTransport::MpiTransport(Mpi& mpi, const plugin::Ranks& ranks)
    : mpi_(mpi), right_(ranks.right()), left_(ranks.left()), pieces_(kInFlight * kMpiPieceBytes) {}

// Receives start first, so that MPI does not have to buffer an arriving piece.
void MpiTransport::send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                                const Consumer& consume) {
  const auto no_failure = [] { return static_cast<const char*>(nullptr); };
  TransferState in(in_bytes), away(out_bytes);
  SpinBackoff backoff(kSilenceLimitS);
  while (!in.has_ended() || !away.has_ended()) {
    start_receives(in);
    start_sends(away, out);
    const bool received = receive(in, consume), sent = send(away);
    if (received || sent)
      backoff.reset();
    else
      backoff.wait(no_failure);
  }
}

void MpiTransport::start_receives(TransferState& flow) {
  for (; flow.can_start(); ++flow.started) {
    const uint64_t piece = flow.started;
    check(mpi_.start_receive(receive_buffer_of_piece(piece), int(flow.bytes_of(piece)), left_,
                             &flow.request_of(piece)),
          "MPI_Irecv");
  }
}

void MpiTransport::start_sends(TransferState& flow, const std::byte* out) {
  for (; flow.can_start(); ++flow.started) {
    const uint64_t piece = flow.started;
    check(mpi_.start_send(out + TransferState::begin_of(piece), int(flow.bytes_of(piece)), right_,
                          &flow.request_of(piece)),
          "MPI_Isend");
  }
}

bool MpiTransport::receive(TransferState& flow, const Consumer& consume) {
  if (flow.has_ended() || !is_done(flow)) return false;
  consume(receive_buffer_of_piece(flow.ended), TransferState::begin_of(flow.ended),
          flow.bytes_of(flow.ended));
  ++flow.ended;
  return true;
}

bool MpiTransport::send(TransferState& flow) {
  if (flow.has_ended() || !is_done(flow)) return false;
  ++flow.ended;
  return true;
}

// Tests the oldest piece in flight. It polls, because a wait inside MPI would not notice that
// another rank has failed.
bool MpiTransport::is_done(TransferState& flow) {
  bool done = false;
  check(mpi_.test(&flow.request_of(flow.ended), &done), "MPI_Test");
  return done;
}

void MpiTransport::check(int code, const char* function) const {
  if (code != 0) plugin::failed(std::string(function) + ": " + mpi_.error_text(code));
}

std::byte* MpiTransport::receive_buffer_of_piece(uint64_t piece) {
  return pieces_.data() + piece % kInFlight * kMpiPieceBytes;
}

std::unique_ptr<RingTransport> connect_mpi(const plugin::Ranks& ranks) {
  return std::make_unique<MpiTransport>(mpi(ranks), ranks);
}

}  // namespace deepbench::cpu
