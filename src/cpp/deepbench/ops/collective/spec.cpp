// The specification of the collectives: parameters, validity, payload, bandwidths.
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/collective/collective.hpp"
#include "deepbench/ops/collective/reference.hpp"

namespace deepbench {
namespace {

struct Definition {
  CollectiveKind kind;
  std::string help, elements_help;
  std::vector<std::string> aliases;
};

class CollectiveOperation final : public Operation {
 public:
  explicit CollectiveOperation(Definition definition)
      : definition_(std::move(definition)), name_(name_of(definition_.kind)) {
    parameters_ = {
        Parameter{"elements", ParameterKind::kInteger, definition_.elements_help}.with_synonyms(
            {"count"}),
        precision_parameter("float")};
    if (is_all_reduce())
      parameters_.push_back({"in_place",
                             ParameterKind::kChoice,
                             "yes: the sum replaces the rank's summand",
                             "no",
                             {"no", "yes"},
                             0,
                             0,
                             "",
                             "",
                             true});
  }

  const std::string& name() const override { return name_; }
  const std::string& help() const override { return definition_.help; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::string> aliases() const override { return definition_.aliases; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    if (!is_all_reduce()) return {};
    return {{"nccl", "all_reduce"}, {"mpi", "all_reduce"}};
  }

  // The sizes of all_reduce are those of the original.
  std::vector<std::string> default_problems(const Attributes&) const override {
    std::vector<std::string> lines;
    if (is_all_reduce()) return lines;
    for (int64_t elements = kSmallest; elements <= kLargest; elements *= kStep)
      lines.push_back(name_ + " elements=" + std::to_string(elements));
    return lines;
  }
  std::string default_problems_help() const override {
    return is_all_reduce() ? ""
                           : "sizes from " + std::to_string(kSmallest) + " to " +
                                 std::to_string(kLargest) + " elements";
  }

  void validate(const Problem& problem) const override {
    checked_product("the payload in bytes", {problem.integer("elements"), 8});
  }

  bool is_collective() const override { return true; }

  // The payload of one rank. Data rates on the links depend on the number of ranks (busbw).
  Work work(const Problem& problem) const override {
    return {0, collective_problem(problem).bytes()};
  }

  // Follows the definitions of nccl-tests.
  std::vector<Metric> derived_metrics(const Problem& problem, const Attributes& facts,
                                      double median_ns) const override {
    const Collective collective = collective_problem(problem);
    const double algbw = collective.bytes() / median_ns;
    const double share = collective.traffic_share(double(facts.integer("ranks", 1)));
    return {{"algbw", "GB/s", "higher", algbw}, {"busbw", "GB/s", "higher", algbw * share}};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_collective_output(collective_problem(problem), conditions);
  }

 private:
  static constexpr int64_t kSmallest = 1 << 12, kLargest = 1 << 24, kStep = 1 << 4;

  bool is_all_reduce() const { return definition_.kind == CollectiveKind::kAllReduce; }

  const Definition definition_;
  const std::string name_, example_ = name_ + " elements=16777216 precision=float";
  std::vector<Parameter> parameters_;
};

}  // namespace

const Operation& all_reduce_operation() {
  static const CollectiveOperation operation({CollectiveKind::kAllReduce,
                                              "sum over all ranks, with the result on every rank",
                                              "elements on each rank",
                                              {"allreduce", "all-reduce"}});
  return operation;
}

const Operation& all_gather_operation() {
  static const CollectiveOperation operation({CollectiveKind::kAllGather,
                                              "the blocks of all ranks, gathered on every rank",
                                              "elements that each rank gathers, of all blocks",
                                              {"allgather", "all-gather"}});
  return operation;
}

const Operation& reduce_scatter_operation() {
  static const CollectiveOperation operation({CollectiveKind::kReduceScatter,
                                              "sum over all ranks, with one block on each rank",
                                              "elements that each rank adds, of all blocks",
                                              {"reducescatter", "reduce-scatter"}});
  return operation;
}

const Operation& all_to_all_operation() {
  static const CollectiveOperation operation({CollectiveKind::kAllToAll,
                                              "a block from every rank to every rank",
                                              "elements that each rank sends, of all blocks",
                                              {"alltoall", "all-to-all"}});
  return operation;
}

const Operation& broadcast_operation() {
  static const CollectiveOperation operation({CollectiveKind::kBroadcast,
                                              "the elements of the last rank, copied to every rank",
                                              "elements on each rank",
                                              {"bcast"}});
  return operation;
}

const Operation& send_recv_operation() {
  static const CollectiveOperation operation({CollectiveKind::kSendRecv,
                                              "each rank sends to the next one of a ring",
                                              "elements that each rank sends",
                                              {"sendrecv", "send-recv"}});
  return operation;
}

}  // namespace deepbench
