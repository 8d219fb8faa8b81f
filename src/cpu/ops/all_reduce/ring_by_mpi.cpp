// Messages of one tag between two ranks arrive in order: a pass is cut into pieces, alike on both
// sides, and several are under way, so that one is summed while the next one comes.
#include "ops/all_reduce/ring_by_mpi.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ops/all_reduce/patience.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kMpiPieceBytes = 256 << 10;  // summed while it is still in the cache
constexpr uint64_t kUnderWay = 2;               // pieces in either direction
constexpr double kMpiSilenceS = 60;

}  // namespace

// What goes in one direction in one pass.
struct MpiNeighbours::Flow {
  explicit Flow(uint64_t all) : bytes(all), pieces((all + kMpiPieceBytes - 1) / kMpiPieceBytes) {}

  bool has_ended() const { return ended == pieces; }
  bool can_start() const { return started < pieces && started - ended < kUnderWay; }
  Request& request(uint64_t piece) { return requests[piece % kUnderWay]; }
  static uint64_t begin(uint64_t piece) { return piece * kMpiPieceBytes; }
  uint64_t bytes_of(uint64_t piece) const { return std::min(kMpiPieceBytes, bytes - begin(piece)); }

  const uint64_t bytes, pieces;
  uint64_t started = 0, ended = 0;  // pieces
  std::array<Request, kUnderWay> requests{};
};

MpiNeighbours::MpiNeighbours(Mpi& mpi, const plugin::Ranks& ranks)
    : mpi_(mpi), right_(ranks.right()), left_(ranks.left()), pieces_(kUnderWay * kMpiPieceBytes) {}

// Receives come first: what arrives for one that waits need not be kept by MPI.
void MpiNeighbours::pass(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                         const Take& take) {
  const auto nobody_tells = [] { return static_cast<const char*>(nullptr); };
  Flow in(in_bytes), away(out_bytes);
  Patience patience(kMpiSilenceS);
  while (!in.has_ended() || !away.has_ended()) {
    start_receives(in);
    start_sends(away, out);
    const bool received = receive(in, take), sent = send(away);
    if (received || sent)
      patience.moved();
    else
      patience.wait(nobody_tells);
  }
}

void MpiNeighbours::start_receives(Flow& flow) {
  for (; flow.can_start(); ++flow.started) {
    const uint64_t piece = flow.started;
    check(
        mpi_.start_receive(room_for(piece), int(flow.bytes_of(piece)), left_, &flow.request(piece)),
        "MPI_Irecv");
  }
}

void MpiNeighbours::start_sends(Flow& flow, const std::byte* out) {
  for (; flow.can_start(); ++flow.started) {
    const uint64_t piece = flow.started;
    check(mpi_.start_send(out + Flow::begin(piece), int(flow.bytes_of(piece)), right_,
                          &flow.request(piece)),
          "MPI_Isend");
  }
}

bool MpiNeighbours::receive(Flow& flow, const Take& take) {
  if (flow.has_ended() || !is_done(flow)) return false;
  take(room_for(flow.ended), Flow::begin(flow.ended), flow.bytes_of(flow.ended));
  ++flow.ended;
  return true;
}

bool MpiNeighbours::send(Flow& flow) {
  if (flow.has_ended() || !is_done(flow)) return false;
  ++flow.ended;
  return true;
}

// Of the oldest piece under way. Polled, and not waited for within MPI, which would not hear that a
// rank has failed.
bool MpiNeighbours::is_done(Flow& flow) {
  bool done = false;
  check(mpi_.test(&flow.request(flow.ended), &done), "MPI_Test");
  return done;
}

void MpiNeighbours::check(int code, const char* function) const {
  if (code != 0) plugin::failed(std::string(function) + ": " + mpi_.error_text(code));
}

std::byte* MpiNeighbours::room_for(uint64_t piece) {
  return pieces_.data() + piece % kUnderWay * kMpiPieceBytes;
}

std::unique_ptr<Neighbours> connect_by_mpi(const plugin::Ranks& ranks) {
  return std::make_unique<MpiNeighbours>(mpi(ranks), ranks);
}

}  // namespace deepbench::cpu
