// Dividing the processors of a machine among its ranks.
#include "deepbench/run/session/core_binding.hpp"

#include <cstdlib>
#include <map>

#include "deepbench/core/affinity.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/physical_cores.hpp"
#include "deepbench/group/machine_identity.hpp"
#include "deepbench/group/message.hpp"

namespace deepbench {
namespace {

std::string pack_core_shares(const std::vector<std::string>& processors) {
  Packer packer;
  for (const CoreShare& share : core_shares(processors))
    packer.number(int64_t{share.index}).number(int64_t{share.count});
  return packer.bytes();
}

CoreShare unpack_core_share(const std::string& bytes, int rank) {
  Unpacker unpacker(bytes);
  CoreShare share;
  for (int i = 0; i <= rank; ++i) {
    share.index = static_cast<int>(unpacker.number<int64_t>());
    share.count = static_cast<int>(unpacker.number<int64_t>());
  }
  return share;
}

}  // namespace

std::vector<CoreShare> core_shares(const std::vector<std::string>& processors) {
  std::map<std::string, int> counts;
  std::vector<CoreShare> shares;
  for (const std::string& one : processors) shares.push_back({counts[one]++, 1});
  for (size_t rank = 0; rank < shares.size(); ++rank) shares[rank].count = counts[processors[rank]];
  return shares;
}

std::vector<int> processors_of_share(const std::vector<std::vector<int>>& cores, CoreShare share) {
  std::vector<int> part;
  if (cores.empty()) return part;
  const size_t index = size_t(share.index), count = size_t(share.count);
  size_t begin = cores.size() * index / count, end = cores.size() * (index + 1) / count;
  if (cores.size() < count) begin = index % cores.size(), end = begin + 1;
  for (size_t core = begin; core < end; ++core)
    part.insert(part.end(), cores[core].begin(), cores[core].end());
  return part;
}

int max_ranks_per_core(size_t cores, int ranks) {
  return cores == 0 ? 1 : int((size_t(ranks) + cores - 1) / cores);
}

void bind_to_core_share(Group& group) {
  const std::vector<int> processors = read_affinity();
  std::string called = machine_identity();
  for (const int cpu : processors) called += " " + std::to_string(cpu);
  const std::string shares =
      group.reduce_and_broadcast(AbortScope::kStep, "cores", called, pack_core_shares);
  const CoreShare share = unpack_core_share(shares, group.rank());
  setenv("DEEPBENCH_RANKS_PER_MACHINE", std::to_string(group.self().local_size).c_str(), 1);
  if (share.count == 1 || processors.empty()) return;
  const auto cores = group_by_core(processors);
  setenv("DEEPBENCH_RANKS_PER_CORE",
         std::to_string(max_ranks_per_core(cores.size(), share.count)).c_str(), 1);
  set_affinity(processors_of_share(cores, share));
  parallel_update_affinity();
}

}  // namespace deepbench
