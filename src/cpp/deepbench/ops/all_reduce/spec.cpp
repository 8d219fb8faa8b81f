// The specification of all_reduce: parameters, validity, payload, bandwidths.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "deepbench/ops/all_reduce/reference.hpp"

namespace deepbench {
namespace {

class AllReduceOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::string> aliases() const override { return {"allreduce", "all-reduce"}; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"nccl", "all_reduce"}, {"mpi", "all_reduce"}};
  }

  void validate(const Problem& problem) const override {
    checked_product("the payload in bytes", {problem.integer("elements"), 8});
  }

  bool is_collective() const override { return true; }

  // The payload of one rank. Data rates on the links depend on the number of ranks (busbw).
  Work work(const Problem& problem) const override {
    return {0, all_reduce_problem(problem).bytes()};
  }

  // The definitions of nccl-tests: every rank must send and receive 2 (n - 1) / n of the payload.
  std::vector<Metric> derived_metrics(const Problem& problem, const Attributes& facts,
                                      double median_ns) const override {
    const double algbw = all_reduce_problem(problem).bytes() / median_ns;
    const double ranks = double(facts.integer("ranks", 1));
    return {{"algbw", "GB/s", "higher", algbw},
            {"busbw", "GB/s", "higher", algbw * 2 * (ranks - 1) / ranks}};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_all_reduce_output(all_reduce_problem(problem), conditions);
  }

 private:
  std::string name_ = "all_reduce";
  std::string help_ = "sum over all ranks, with the result on every rank";
  std::string example_ = "all_reduce elements=16777216 precision=float";
  std::vector<Parameter> parameters_ = {
      Parameter{"elements", ParameterKind::kInteger, "elements on each rank"}.with_synonyms(
          {"count"}),
      precision_parameter("float"),
      {"in_place",
       ParameterKind::kChoice,
       "yes: the sum replaces the rank's summand",
       "no",
       {"no", "yes"},
       0,
       0,
       "",
       "",
       true},
  };
};

}  // namespace

const Operation& all_reduce_operation() {
  static const AllReduceOperation operation;
  return operation;
}

}  // namespace deepbench
