// The specification of axpy: parameters, validity, useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/axpy/axpy.hpp"
#include "deepbench/ops/axpy/reference.hpp"

namespace deepbench {
namespace {

// The floating-point types in which a sum of vectors is common.
Parameter axpy_precision() {
  Parameter parameter = precision_parameter("float");
  parameter.help = "type of both vectors";
  parameter.choices = {"float", "half", "bfloat16"};
  parameter.aliases.clear();
  for (const std::string& choice : parameter.choices)
    for (const std::string_view alias : precision_info(choice).aliases)
      if (!alias.empty()) parameter.aliases.emplace_back(alias, choice);
  return parameter;
}

class AxpyOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"saxpy", "axpy"}, {"haxpy", "axpy precision=half"}};
  }

  void validate(const Problem& problem) const override {
    const Axpy axpy = axpy_problem(problem);
    checked_product("the size of x and y in bytes", {2, axpy.n, size_of(axpy.type())});
  }

  Work work(const Problem& problem) const override {
    const Axpy axpy = axpy_problem(problem);
    return {axpy.flops(), axpy.traffic()};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_axpy_output(axpy_problem(problem), conditions);
  }

 private:
  std::string name_ = "axpy";
  std::string help_ = "scaled sum of two vectors, y = a x + y";
  std::string example_ = "axpy n=1000000 precision=float";
  std::vector<Parameter> parameters_ = {
      {"n", ParameterKind::kInteger, "elements of each vector"},
      axpy_precision(),
  };
};

}  // namespace

const Operation& axpy_operation() {
  static const AxpyOperation operation;
  return operation;
}

}  // namespace deepbench
