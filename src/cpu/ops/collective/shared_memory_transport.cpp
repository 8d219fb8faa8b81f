// Uses a ring buffer of bytes in each direction. A waiting rank spins first and then yields its
// core.
#include "ops/collective/shared_memory_transport.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ops/collective/spin_backoff.hpp"

namespace deepbench::cpu {
namespace {

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
  uint64_t key = 0;
  alignas(kLineBytes) std::atomic<uint64_t> written{0};
  alignas(kLineBytes) std::atomic<uint64_t> read{0};
  alignas(kPageBytes) std::byte data[kBytes];
};

Channel::~Channel() {
  if (memory_) munmap(memory_, sizeof(Memory));
  close_descriptor();
}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void Channel::map() {
  void* const at =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) cannot_share("mmap");
  memory_ = static_cast<Memory*>(at);
}

Channel Channel::create(uint64_t key) {
  Channel channel;
  channel.descriptor_ = memfd_create("deepbench", MFD_CLOEXEC);
  if (channel.descriptor_ < 0) cannot_share("memfd_create");
  // Allocates the memory here, where a shortage is an error that can be reported. On the first
  // access it would raise a signal.
  errno = posix_fallocate(channel.descriptor_, 0, sizeof(Memory));
  if (errno != 0) cannot_share("posix_fallocate");
  channel.map();
  new (channel.memory_) Memory;
  channel.memory_->key = key;
  return channel;
}

Channel::Place Channel::place() const { return {getpid(), descriptor_}; }

Channel Channel::open(const Place& place, uint64_t key) {
  const std::string path =
      "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  Channel channel;
  channel.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat facts {};
  if (channel.descriptor_ < 0 || fstat(channel.descriptor_, &facts) != 0) cannot_share(path);
  // In another container, the process number may belong to a different process.
  errno = ENXIO;
  if (facts.st_size != sizeof(Memory)) cannot_share(path);
  channel.map();
  errno = ENXIO;
  if (channel.memory_->key != key) cannot_share(path);
  channel.close_descriptor();
  return channel;
}

void Channel::close_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

uint64_t Channel::write(const std::byte* data, uint64_t bytes) {
  const uint64_t written = memory_->written.load(std::memory_order_relaxed);
  const uint64_t room = kBytes - (written - memory_->read.load(std::memory_order_acquire));
  // Splits data only at a line boundary, so that no element is split.
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

const char* SharedMemoryTransport::disconnected_neighbor() const {
  return has_hung_up(to_left_)    ? "its left neighbor closed the connection"
         : has_hung_up(to_right_) ? "its right neighbor closed the connection"
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
      backoff.wait([this] { return disconnected_neighbor(); });
  }
}

std::unique_ptr<RingTransport> connect_shared_memory(const plugin::Ranks& ranks) {
  NeighborConnections connections = connect_neighbors(ranks);
  // The key by which the reader accepted its left neighbor identifies the memory as well.
  const auto key = [&](int reader) { return connections.keys[size_t(reader)]; };
  Channel right = Channel::create(key(ranks.right()));
  const std::vector<Channel::Place> places = ranks.exchange(right.place());
  Channel left = Channel::open(places[size_t(ranks.left())], key(ranks.rank()));
  ranks.exchange(char{1});  // every rank has opened its channel after this exchange
  right.close_descriptor();
  return std::make_unique<SharedMemoryTransport>(std::move(right), std::move(left),
                                                 std::move(connections.right),
                                                 std::move(connections.left), kSilenceLimitS);
}

}  // namespace deepbench::cpu
