// Plans and creates copies, and flushes caches.
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

void Copies::copy_into(uint64_t first_copy, const std::byte* from) const {
  for (uint64_t copy = first_copy; copy < count(); ++copy) {
    host_workers().parallel_for(bytes(), kCopyGrain, [&](uint64_t begin, uint64_t end, size_t) {
      std::memcpy(at(copy) + begin, from + begin, end - begin);
    });
  }
}

void Copies::replicate() const {
  if (count() > 1) copy_into(1, at(0));
}

void Copies::overwrite(const std::byte* from) const { copy_into(0, from); }

void CacheFlusher::flush() {
  host_workers().run([this](size_t worker) { flush_part(worker, host_workers().size()); });
}

void CacheFlusher::flush_part(size_t worker, size_t workers) {
  std::byte* const begin = buffer_.data() + part_begin(buffer_.size(), kLineBytes, worker, workers);
  std::byte* const end =
      buffer_.data() + part_begin(buffer_.size(), kLineBytes, worker + 1, workers);
  // volatile keeps the compiler from removing the read or the write.
  for (std::byte* at = begin; at < end; at += kLineBytes) {
    auto* word = reinterpret_cast<volatile unsigned char*>(at);
    *word = static_cast<unsigned char>(*word + 1);
  }
}

}  // namespace deepbench::cpu
