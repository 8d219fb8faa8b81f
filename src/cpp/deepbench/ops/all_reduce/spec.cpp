// all_reduce: parameters, validity and payload.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"

namespace deepbench {
namespace {

class AllReduceOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }

  void validate(const Problem& problem) const override {
    checked_product("the payload in bytes", {problem.integer("elements"), 8});
  }

  // The payload of one rank; rates on the wires depend on the number of ranks.
  Work work(const Problem& problem) const override {
    return {0, all_reduce_problem(problem).bytes()};
  }

 private:
  std::string name_ = "all_reduce";
  std::string help_ = "sum over all ranks, left on every rank";
  std::string example_ = "all_reduce elements=16777216 precision=float";
  std::vector<Parameter> parameters_ = {
      {"elements", ParameterKind::kInteger, "numbers on each rank"},
      precision_parameter("float"),
  };
};

}  // namespace

const Operation& all_reduce_operation() {
  static const AllReduceOperation operation;
  return operation;
}

}  // namespace deepbench
