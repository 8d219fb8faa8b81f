// Combining the times of all ranks.
#include "deepbench/run/row/collective_timing.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/core/status.hpp"
#include "deepbench/group/message.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/backend/limits.hpp"

namespace deepbench {
namespace {

std::string pack(const Batch& batch) {
  Packer packer;
  packer.number(batch.count).number(batch.elapsed_ns).number(batch.host_ns).number(batch.clock_mhz);
  packer.number(batch.longest_watched_ns);
  packer.number(int64_t{batch.throttled}).number(int64_t{batch.power_capped});
  return packer.text(batch.launch).text(batch.timer).bytes();
}

Batch unpack_batch(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Batch batch;
  batch.count = unpacker.number<uint64_t>();
  batch.elapsed_ns = unpacker.number<double>();
  batch.host_ns = unpacker.number<double>();
  batch.clock_mhz = unpacker.number<double>();
  batch.longest_watched_ns = unpacker.number<double>();
  batch.throttled = unpacker.number<int64_t>() != 0;
  batch.power_capped = unpacker.number<int64_t>() != 0;
  batch.launch = unpacker.text();
  batch.timer = unpacker.text();
  return batch;
}

bool is_time(double ns) { return ns > 0 && ns <= limits::kLongestNs; }

// Each rank checks the answers of its own backend. This checks that the other ranks have done so.
void require_possible(const Batch& batch, size_t rank) {
  if (is_time(batch.elapsed_ns) && is_time(batch.host_ns) &&
      std::isfinite(batch.longest_watched_ns) && std::isfinite(batch.clock_mhz))
    return;
  throw RowFailure(Status::kFailed, "rank " + std::to_string(rank) + " sent an impossible time");
}

std::string merge_slowest(const std::vector<std::string>& all) {
  Batch agreed = unpack_batch(all[0]);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Batch one = unpack_batch(all[rank]);
    require_possible(one, rank);
    agreed.elapsed_ns = std::max(agreed.elapsed_ns, one.elapsed_ns);
    agreed.host_ns = std::max(agreed.host_ns, one.host_ns);
    agreed.longest_watched_ns = std::max(agreed.longest_watched_ns, one.longest_watched_ns);
    agreed.clock_mhz = std::min(agreed.clock_mhz, one.clock_mhz);
    agreed.throttled = agreed.throttled || one.throttled;
    agreed.power_capped = agreed.power_capped || one.power_capped;
  }
  return pack(agreed);
}

// Rank 0's answer: p50, p99, slowest rank, spread.
std::string rank_statistics(const std::vector<std::string>& all) {
  std::vector<double> slowest_ns, medians;
  for (const std::string& bytes : all) {
    const std::vector<double> one = Unpacker(bytes).numbers();
    if (slowest_ns.empty()) slowest_ns.resize(one.size(), 0.0);
    if (one.empty() || one.size() != slowest_ns.size())
      throw RowFailure(Status::kFailed, "the ranks have timed different numbers of calls");
    if (!std::all_of(one.begin(), one.end(), is_time))
      throw RowFailure(Status::kFailed, "a rank sent an impossible time");
    for (size_t i = 0; i < one.size(); ++i) slowest_ns[i] = std::max(slowest_ns[i], one[i]);
    medians.push_back(median(one));
  }
  const Statistics calls = summarize(slowest_ns);
  const auto [quickest, last] = std::minmax_element(medians.begin(), medians.end());
  return Packer()
      .numbers({calls.median, calls.p99, double(last - medians.begin()),
                100 * (*last - *quickest) / *last})
      .bytes();
}

}  // namespace

Batch slowest_batch(Group* group, uint64_t count, const std::function<Batch()>& time) {
  if (!group) return time();
  // The count is part of the step's name, so that ranks which decided differently fail at once.
  const std::string step = "batch of " + std::to_string(count);
  Batch mine;
  try {
    mine = time();
  } catch (const RowFailure& failure) {
    group->fail_step(AbortScope::kStep, step, failure);
  }
  Batch agreed =
      unpack_batch(group->reduce_and_broadcast(AbortScope::kStep, step, pack(mine), merge_slowest));
  agreed.own_elapsed_ns = mine.own_elapsed_ns;
  agreed.watched_ns = mine.watched_ns;
  return agreed;
}

std::vector<double> smallest_of_ranks(Group* group, const std::string& step,
                                      const std::vector<double>& mine) {
  if (!group) return mine;
  const auto smallest = [](const std::vector<std::string>& all) {
    std::vector<double> values = Unpacker(all[0]).numbers();
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const std::vector<double> one = Unpacker(all[rank]).numbers();
      if (one.size() != values.size())
        throw RowFailure(Status::kFailed, "the ranks have sent different numbers of values");
      if (!std::all_of(one.begin(), one.end(), [](double value) { return std::isfinite(value); }))
        throw RowFailure(Status::kFailed,
                         "rank " + std::to_string(rank) + " sent an impossible value");
      for (size_t i = 0; i < one.size(); ++i) values[i] = std::min(values[i], one[i]);
    }
    return Packer().numbers(values).bytes();
  };
  return Unpacker(group->reduce_and_broadcast(AbortScope::kStep, step,
                                              Packer().numbers(mine).bytes(), smallest))
      .numbers();
}

bool is_true_on_any_rank(Group* group, const std::string& step, bool mine) {
  if (!group) return mine;
  const auto any = [](const std::vector<std::string>& all) {
    return std::find(all.begin(), all.end(), "yes") == all.end() ? "no" : "yes";
  };
  return group->reduce_and_broadcast(AbortScope::kStep, step, mine ? "yes" : "no", any) == "yes";
}

std::string first_text_of_ranks(Group* group, const std::string& step, const std::string& mine) {
  if (!group) return mine;
  const auto first = [](const std::vector<std::string>& all) -> std::string {
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (!all[rank].empty()) return "rank " + std::to_string(rank) + ": " + all[rank];
    return "";
  };
  return group->reduce_and_broadcast(AbortScope::kStep, step, mine, first);
}

void start_collectively(Group* group, const std::function<void()>& body) {
  if (!group) return body();
  try {
    group->collective_step(AbortScope::kRow, "start", body);
  } catch (const RowFailure& failure) {
    throw BackendUnavailable(failure.what());
  }
}

std::vector<Metric> rank_metrics(Group& group, const std::vector<double>& mine_ns) {
  const std::string answer = group.reduce_and_broadcast(
      AbortScope::kStep, "single calls", Packer().numbers(mine_ns).bytes(), rank_statistics);
  if (group.rank() != 0) return {};
  const std::vector<double> found = Unpacker(answer).numbers();
  return {{"call_p50", "ns", "lower", found[0]},
          {"call_p99", "ns", "lower", found[1]},
          {"slowest_rank", "", "", found[2]},
          {"rank_spread", "%", "lower", found[3]}};
}

}  // namespace deepbench
