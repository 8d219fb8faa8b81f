// Compares the calls of all ranks on rank 0.
#include "deepbench/run/row/repeated_calls.hpp"

#include <algorithm>
#include <string>

#include "deepbench/core/status.hpp"
#include "deepbench/group/message.hpp"

namespace deepbench {
namespace {

constexpr uint64_t kSeeds = 4, kOutputsOfSeed = 16;

std::string pack(const RepeatedCalls& calls) {
  return Packer().numbers(calls.projections).texts(calls.samples).numbers(calls.expected).bytes();
}

RepeatedCalls unpack(const std::string& bytes) {
  Unpacker unpacker(bytes);
  RepeatedCalls calls;
  calls.projections = unpacker.numbers();
  calls.samples = unpacker.texts();
  calls.expected = unpacker.numbers();
  if (calls.projections.empty() || calls.samples.size() != calls.projections.size())
    throw RowFailure(Status::kFailed, "a rank sent not as many samples as projections, or none");
  return calls;
}

uint64_t count_equal(const std::vector<RepeatedCalls>& ranks) {
  const RepeatedCalls& first = ranks.front();
  for (const RepeatedCalls& rank : ranks)
    if (rank.projections.size() != first.projections.size())
      throw RowFailure(Status::kFailed, "the ranks have made different numbers of calls");
  const bool must_be_alike =
      std::all_of(ranks.begin(), ranks.end(),
                  [&](const RepeatedCalls& rank) { return rank.expected == first.expected; });
  uint64_t equal = 0;
  for (size_t call = 0; call < first.projections.size(); ++call)
    equal += std::all_of(ranks.begin(), ranks.end(), [&](const RepeatedCalls& rank) {
      return rank.projections[call] == rank.projections[0] &&
             rank.samples[call] == (must_be_alike ? first : rank).samples[0];
    });
  return equal;
}

}  // namespace

std::vector<double> expected_on_rank(const Problem& problem, const Attributes& kernel_facts,
                                     int rank) {
  std::vector<double> expected;
  KernelConditions conditions;
  conditions.facts = kernel_facts;
  conditions.rank = rank;
  for (conditions.seed = 1; conditions.seed <= kSeeds; ++conditions.seed) {
    const ExpectedOutput output = problem.operation().expected_output(problem, conditions);
    std::vector<double> values(size_t(std::min(output.outputs, kOutputsOfSeed)));
    output.exact_values(0, values.size(), values.data());
    expected.insert(expected.end(), values.begin(), values.end());
  }
  return expected;
}

std::vector<Metric> bitwise_metric(Group& group, const RepeatedCalls& mine) {
  if (mine.projections.empty()) return {};
  const auto count = [](const std::vector<std::string>& all) {
    std::vector<RepeatedCalls> ranks;
    for (const std::string& bytes : all) ranks.push_back(unpack(bytes));
    return std::to_string(count_equal(ranks));
  };
  const std::string equal =
      group.reduce_and_broadcast(AbortScope::kStep, "repeated calls", pack(mine), count);
  if (group.rank() != 0) return {};
  const std::string calls = std::to_string(mine.projections.size());
  return {{"bitwise", "/" + calls, "", std::stod(equal)}};
}

}  // namespace deepbench
