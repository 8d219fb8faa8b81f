// Rows that several ranks make together: one batch out of every rank's, and what ranks differ in.
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
// times, the slowest clock, anyone's trouble. Throws RowFailure on all if it does on one. Alone
// (`group` is nullptr) it is just `time`.
DEEPBENCH_API Batch slowest_batch(Group* group, uint64_t count, const std::function<Batch()>& time);

// From this rank's times of single calls, as many on every rank: call_p50 and call_p99 of the
// slowest rank of each, slowest_rank, and rank_spread, by how much the quickest rank's median is
// below the slowest's. On rank 0; nothing on the others.
DEEPBENCH_API std::vector<Metric> rank_metrics(Group& group, const std::vector<double>& mine_ns);

// Does the beginning of a rank's work: where it throws on one rank, all throw BackendUnavailable
// with that rank's reason. Alone it is just `body`.
DEEPBENCH_API void start_collectively(Group* group, const std::function<void()>& body);

}  // namespace deepbench
