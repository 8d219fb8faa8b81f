// What join() leaves.
#include "ops/all_reduce/ranks.hpp"

namespace deepbench::cpu {
namespace {

Ranks& joined() {
  static Ranks all;
  return all;
}

}  // namespace

Ranks::Ranks(const deepbench_group& group)
    : group_(&group),
      rank_(group.rank),
      size_(group.size),
      local_rank_(group.rank),
      local_size_(group.size) {
  constexpr size_t kSince13 = offsetof(deepbench_group, address) + sizeof group.address;
  if (group.struct_size < kSince13) return;
  local_rank_ = group.local_rank;
  local_size_ = group.local_size;
  if (group.address) address_ = group.address;
}

void Ranks::exchange_bytes(const void* mine, size_t bytes, void* all) const {
  if (!group_) {
    std::memcpy(all, mine, bytes);
    return;
  }
  const deepbench_status status = group_->exchange(group_->context, mine, bytes, all);
  if (status != DEEPBENCH_OK)
    throw plugin::Error(status, "the ranks could not exchange what they need");
}

const Ranks& ranks() { return joined(); }

void join(const deepbench_group& group) { joined() = Ranks(group); }

void require_ranks() {
  if (ranks().size() < 2)
    plugin::unsupported(
        "a sum over ranks needs at least two: --ranks 2 starts them on this machine; mpirun, srun "
        "or torchrun start them on several (docs/operations/all_reduce.md)");
}

}  // namespace deepbench::cpu
