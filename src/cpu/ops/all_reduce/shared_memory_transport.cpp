// Uses a ring buffer of bytes in each direction. A waiting rank spins first and then yields its
// core.
#include "ops/all_reduce/shared_memory_transport.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "ops/all_reduce/spin_backoff.hpp"

namespace deepbench::cpu {
namespace {

constexpr double kSharedMemoryTimeoutS = 60;

[[noreturn]] void cannot_share(const std::string& what) {
  plugin::failed("no shared memory (" + what + ": " + std::strerror(errno) +
                 "); --algorithm sockets needs no shared memory");
}

bool has_hung_up(const Connection& connection) {
  pollfd one = {connection.descriptor(), POLLIN, 0};
  // Nobody sends data over this connection, so it is readable only at its end.
  return poll(&one, 1, 0) > 0;
}

}  // namespace

// Both counts only grow; their difference is the number of bytes in the buffer.
struct Channel::Memory {
  alignas(kLineBytes) std::atomic<uint64_t> written{0};
  alignas(kLineBytes) std::atomic<uint64_t> read{0};
  alignas(kPageBytes) std::byte data[kBytes];
};

Channel::~Channel() {
  if (memory_) munmap(memory_, sizeof(Memory));
}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

Channel Channel::map(int descriptor, const std::string& name) {
  if (descriptor < 0) cannot_share(name);
  void* const at = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (at == MAP_FAILED) cannot_share(name);
  Channel channel;
  channel.memory_ = static_cast<Memory*>(at);
  return channel;
}

Channel Channel::create(const std::string& name) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // Allocates the memory here, where a shortage is an error that can be reported. The first access
  // would raise a signal.
  if (descriptor >= 0 && posix_fallocate(descriptor, 0, sizeof(Memory)) != 0) {
    shm_unlink(name.c_str());
    ::close(descriptor);
    errno = ENOSPC;
    cannot_share(name);
  }
  Channel channel = map(descriptor, name);
  new (channel.memory_) Memory;
  return channel;
}

Channel Channel::open(const std::string& name) {
  Channel channel = map(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0), name);
  shm_unlink(name.c_str());
  return channel;
}

uint64_t Channel::write(const std::byte* data, uint64_t bytes) {
  const uint64_t written = memory_->written.load(std::memory_order_relaxed);
  const uint64_t room = kBytes - (written - memory_->read.load(std::memory_order_acquire));
  // Cuts data only at a line boundary, so that no element is split.
  const uint64_t count = room >= bytes ? bytes : room - room % kLineBytes, at = written % kBytes;
  const uint64_t first = std::min(count, kBytes - at);
  if (count == 0) return 0;
  std::memcpy(memory_->data + at, data, first);
  std::memcpy(memory_->data, data + first, count - first);
  memory_->written.store(written + count, std::memory_order_release);
  return count;
}

const std::byte* Channel::peek(uint64_t bytes, uint64_t* found) const {
  const uint64_t read = memory_->read.load(std::memory_order_relaxed);
  const uint64_t there = memory_->written.load(std::memory_order_acquire) - read;
  const uint64_t at = read % kBytes;
  *found = std::min({there, bytes, kBytes - at});
  return *found > 0 ? memory_->data + at : nullptr;
}

void Channel::release(uint64_t bytes) {
  memory_->read.store(memory_->read.load(std::memory_order_relaxed) + bytes,
                      std::memory_order_release);
}

SharedMemoryTransport::SharedMemoryTransport(Channel right, Channel left, Connection to_right,
                                             Connection to_left, double timeout_s)
    : right_(std::move(right)),
      left_(std::move(left)),
      to_right_(std::move(to_right)),
      to_left_(std::move(to_left)),
      timeout_s_(timeout_s) {}

const char* SharedMemoryTransport::disconnected_neighbour() const {
  return has_hung_up(to_left_)    ? "its left neighbour closed the connection"
         : has_hung_up(to_right_) ? "its right neighbour closed the connection"
                                  : nullptr;
}

// Alternates between sending and receiving at most a quarter of the buffer, so that neither buffer
// runs empty. Each pass is padded to whole lines, so that every pass begins at a line and no
// element is split where the buffer wraps around.
void SharedMemoryTransport::send_receive(const std::byte* out, uint64_t out_bytes,
                                         uint64_t in_bytes, const Consumer& consume) {
  constexpr uint64_t kMax = Channel::kBytes / 4;
  static constexpr std::byte kPadding[kLineBytes] = {};
  uint64_t out_padding = round_up(out_bytes, kLineBytes) - out_bytes;
  uint64_t in_left = round_up(in_bytes, kLineBytes), taken = 0;
  SpinBackoff backoff(timeout_s_);
  while (out_bytes + out_padding + in_left > 0) {
    const bool pads = out_bytes == 0;
    const uint64_t sent =
        right_.write(pads ? kPadding : out, std::min(pads ? out_padding : out_bytes, kMax));
    (pads ? out_padding : out_bytes) -= sent;
    out += pads ? 0 : sent;
    uint64_t found = 0;
    if (const std::byte* const piece = left_.peek(std::min(in_left, kMax), &found)) {
      const uint64_t payload = std::min(found, in_bytes - taken);
      if (payload > 0) consume(piece, taken, payload);
      left_.release(found);
      taken += payload, in_left -= found;
    }
    if (sent > 0 || found > 0)
      backoff.reset();
    else
      backoff.wait([this] { return disconnected_neighbour(); });
  }
}

std::unique_ptr<RingTransport> connect_shared_memory(const plugin::Ranks& ranks) {
  NeighbourConnections connections = connect_neighbours(ranks);
  // A unique name: the key by which the reader accepted its left neighbour.
  const auto name = [&](int reader) {
    return "/deepbench-" + std::to_string(connections.keys[size_t(reader)]);
  };
  Channel right = Channel::create(name(ranks.right()));
  ranks.exchange(char{1});  // All channels exist after this exchange.
  Channel left = Channel::open(name(ranks.rank()));
  return std::make_unique<SharedMemoryTransport>(
      std::move(right), std::move(left), std::move(connections.right), std::move(connections.left),
      kSharedMemoryTimeoutS);
}

}  // namespace deepbench::cpu
