// Timing of collectives: one batch from the batches of all ranks, and the spread between ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/batch.hpp"

namespace deepbench {

// Makes `count` calls on every rank and returns the same batch on all of them: the slowest rank's
// times, the lowest clock, and a throttling flag if any rank was throttled. Only the times of each
// rank's own clocks differ. A RowFailure on one rank is thrown on all. Without a group it only
// calls `time`.
DEEPBENCH_API Batch slowest_batch(Group* group, uint64_t count, const std::function<Batch()>& time);

// The smallest of the ranks' values, each for itself, on all ranks: limits that every rank's device
// and kernel keep. Without a group it is `mine`.
DEEPBENCH_API std::vector<double> smallest_of_ranks(Group* group, const std::string& step,
                                                    const std::vector<double>& mine);

// Whether `mine` is true on any rank.
DEEPBENCH_API bool is_true_on_any_rank(Group* group, const std::string& step, bool mine);

// The first text of a rank that is not empty, with the rank's number before it; "" if there is
// none. Without a group it is `mine`.
DEEPBENCH_API std::string first_text_of_ranks(Group* group, const std::string& step,
                                              const std::string& mine);

// Metrics of the times of single calls, of which every rank has the same number: call_p50 and
// call_p99 of each call's slowest rank, slowest_rank, and rank_spread, the share by which the
// median of the fastest rank is below that of the slowest. Empty on ranks other than 0.
DEEPBENCH_API std::vector<Metric> rank_metrics(Group& group, const std::vector<double>& mine_ns);

// Runs `body` on every rank at the start: if it throws on one rank, all ranks throw
// BackendUnavailable with that rank's reason. Without a group it only calls `body`.
DEEPBENCH_API void start_collectively(Group* group, const std::function<void()>& body);

}  // namespace deepbench
