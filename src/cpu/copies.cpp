// Planning and making copies, flushing caches.
#include "copies.hpp"

#include <algorithm>
#include <cstring>

#include "cgroup_limits.hpp"
#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kCopyGrain = uint64_t{1} << 20;

}  // namespace

CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options) {
  return plan_copies(bytes_per_copy, options, uint64_t(topology().last_level_bytes),
                     uint64_t(read_memory().total_bytes));
}

// Small operands lie a cache line apart, large ones a page: every copy begins at the alignment
// of the first, or a multiple of it.
static uint64_t stride_of(uint64_t bytes) {
  return round_up(bytes, bytes < kPageBytes ? kLineBytes : kPageBytes);
}

uint64_t Copies::needed_bytes(uint64_t bytes, uint64_t copies) {
  return bytes > (uint64_t{1} << 62) ? bytes : saturating_multiply(stride_of(bytes), copies);
}

Copies::Copies(uint64_t bytes, uint64_t copies)
    : bytes_(bytes),
      count_(copies),
      stride_(stride_of(bytes)),
      buffer_(needed_bytes(bytes, copies)) {}

void Copies::replicate() {
  for (uint64_t copy = 1; copy < count_; ++copy) {
    host_workers().parallel_for(bytes_, kCopyGrain, [&](uint64_t begin, uint64_t end, size_t) {
      std::memcpy(at(copy) + begin, at(0) + begin, end - begin);
    });
  }
}

void Copies::overwrite(const std::byte* from) {
  for (uint64_t copy = 0; copy < count_; ++copy) {
    host_workers().parallel_for(bytes_, kCopyGrain, [&](uint64_t begin, uint64_t end, size_t) {
      std::memcpy(at(copy) + begin, from + begin, end - begin);
    });
  }
}

void CacheFlusher::flush() {
  host_workers().run([this](size_t worker) { flush_part(worker, host_workers().size()); });
}

void CacheFlusher::flush_part(size_t worker, size_t workers) {
  std::byte* const begin = buffer_.data() + part_begin(buffer_.size(), kLineBytes, worker, workers);
  std::byte* const end =
      buffer_.data() + part_begin(buffer_.size(), kLineBytes, worker + 1, workers);
  // Read and written through volatile: the compiler may not leave either out.
  for (std::byte* at = begin; at < end; at += kLineBytes) {
    auto* word = reinterpret_cast<volatile unsigned char*>(at);
    *word = static_cast<unsigned char>(*word + 1);
  }
}

}  // namespace deepbench::cpu
