// The typed problem of operations that all ranks compute together. Header-only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendRecv
};

struct NamedCollective {
  CollectiveKind kind;
  std::string_view name;
};

inline constexpr std::array<NamedCollective, 6> kCollectives = {{
    {CollectiveKind::kAllReduce, "all_reduce"},
    {CollectiveKind::kAllGather, "all_gather"},
    {CollectiveKind::kReduceScatter, "reduce_scatter"},
    {CollectiveKind::kAllToAll, "all_to_all"},
    {CollectiveKind::kBroadcast, "broadcast"},
    {CollectiveKind::kSendRecv, "send_recv"},
}};

constexpr std::string_view name_of(CollectiveKind kind) {
  for (const NamedCollective& one : kCollectives)
    if (one.kind == kind) return one.name;
  return "";
}

// An element of a rank's operand.
struct SourceElement {
  uint32_t rank;
  uint64_t index;
};

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t elements = 0;  // of a rank's operand or of its result, whichever has more
  PrecisionInfo precision;
  bool in_place = false;  // all_reduce only: the sum replaces the rank's summand

  double bytes() const { return double(elements) * double(size_of(precision.c)); }

  // Whether results are sums over the ranks. Otherwise they are copies.
  bool is_sum() const {
    return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
  }
  // Whether the elements consist of one block for each rank.
  bool has_blocks() const {
    return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
           kind == CollectiveKind::kAllToAll;
  }
  // Whether a rank's result replaces its operand.
  bool has_one_array() const { return in_place || kind == CollectiveKind::kBroadcast; }

  // The rank that broadcasts. It is the last one, so that rank 0, whose verification the row shows,
  // receives.
  static constexpr int root(int ranks) { return ranks - 1; }
  // The root has no result: its array does not change.
  bool has_result(int rank, int ranks) const {
    return kind != CollectiveKind::kBroadcast || rank != root(ranks);
  }

  // The count as libraries define it: the elements of a block, or all elements.
  uint64_t count(int ranks) const {
    return uint64_t(elements) / (has_blocks() ? uint64_t(ranks) : 1);
  }
  uint64_t operand_elements(int ranks) const {
    return kind == CollectiveKind::kAllGather ? count(ranks) : uint64_t(elements);
  }
  uint64_t result_elements(int ranks) const {
    return kind == CollectiveKind::kReduceScatter ? count(ranks) : uint64_t(elements);
  }

  // The number of outputs of `count` consecutive ranks.
  uint64_t outputs(int first_rank, int count, int ranks) const {
    const bool has_root = !has_result(first_rank + count - 1, ranks);
    return result_elements(ranks) * uint64_t(count - (has_root ? 1 : 0));
  }

  // The minimum that each rank must send or receive, as a share of bytes(): the factor of
  // nccl-tests.
  double traffic_share(double ranks) const {
    if (kind == CollectiveKind::kAllReduce) return 2 * (ranks - 1) / ranks;
    return has_blocks() ? (ranks - 1) / ranks : 1;
  }

  // The element of which an element of a rank's result is a copy. For a sum over all ranks, the
  // rank's own summand.
  SourceElement source(uint32_t rank, uint32_t ranks, uint64_t index) const {
    const uint64_t block = count(int(ranks));
    switch (kind) {
      case CollectiveKind::kAllGather:
        return {uint32_t(index / block), index % block};
      case CollectiveKind::kReduceScatter:
        return {rank, rank * block + index};
      case CollectiveKind::kAllToAll:
        return {uint32_t(index / block), rank * block + index % block};
      case CollectiveKind::kBroadcast:
        return {uint32_t(root(int(ranks))), index};
      case CollectiveKind::kSendRecv:
        return {(rank + ranks - 1) % ranks, index};
      default:
        return {rank, index};
    }
  }
};

// `problem` has the name of its operation and its attributes.
template <class Problem>
Collective collective_problem(const Problem& problem) {
  for (const NamedCollective& one : kCollectives)
    if (one.name == problem.op())
      return {one.kind, problem.integer("elements"), precision_info(problem.text("precision")),
              problem.text("in_place") == "yes"};
  throw std::invalid_argument("no collective is called '" + problem.op() + "'");
}

// The number of consecutive sums in place after which no value can have left the range of its type;
// the first sum adds the values of deepbench_summand().
inline int64_t sums_before_overflow(deepbench_type type, int ranks) {
  const double first_sum_bits = type == DEEPBENCH_F32 ? 24 : type == DEEPBENCH_F16 ? 11 : 8;
  const double max_bits = type == DEEPBENCH_F16 ? 15 : 127;
  return 1 + static_cast<int64_t>((max_bits - first_sum_bits) / std::log2(std::max(2, ranks)));
}

}  // namespace deepbench
