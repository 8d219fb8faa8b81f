// The specification of softmax: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/softmax/reference.hpp"
#include "deepbench/ops/softmax/softmax.hpp"

namespace deepbench {
namespace {

class SoftmaxOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::string group_by() const override { return "phase"; }

  // The classes of ImageNet, the attention of BERT-large at 384 tokens, and the vocabulary of a
  // Llama model for a batch and for one token.
  std::vector<std::string> default_problems(const Attributes&) const override {
    std::vector<std::string> lines;
    for (const char* const shape : {"rows=256 columns=1000", "rows=24576 columns=384",
                                    "rows=256 columns=32000", "rows=1 columns=128256"})
      for (const char* const phase : {"fwd", "bwd"})
        lines.push_back(std::string("softmax ") + shape + " phase=" + phase);
    return lines;
  }
  std::string default_problems_help() const override {
    return "rows of classifiers, of attention and of vocabularies, in both phases";
  }

  void validate(const Problem& problem) const override {
    const Softmax softmax = softmax_problem(problem);
    checked_product("the size of all arrays in bytes",
                    {softmax.rows, softmax.columns, 3, size_of(softmax.type())});
  }

  Work work(const Problem& problem) const override {
    return {0, softmax_problem(problem).traffic()};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_softmax_output(softmax_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return softmax_verification_bytes(softmax_problem(problem));
  }
  // With inputs in [-1, 1), the result does not show that the maximum is not subtracted, nor, in a
  // long row, that the sum lacks a part.
  bool needs_exact_sums(const Problem& problem) const override {
    return softmax_problem(problem).is_forward;
  }
  bool permits_condition(const Problem& problem, std::string_view name,
                         const Value& value) const override {
    return name == "accumulator" && to_text(value) == Softmax::kRoundedExponentials &&
           softmax_problem(problem).may_round_exponentials();
  }

 private:
  std::string name_ = "softmax";
  std::string help_ = "softmax of each row of a matrix, and its gradient";
  std::string example_ = "softmax rows=4096 columns=1000 phase=fwd precision=float";
  std::vector<Parameter> parameters_ = {
      Parameter{"rows", ParameterKind::kInteger, "rows, each with its own softmax"}.with_synonyms(
          {"batch"}),
      Parameter{"columns", ParameterKind::kInteger, "elements of a row"}.with_synonyms(
          {"classes", "dim"}),
      {"phase",
       ParameterKind::kChoice,
       "fwd: y from x; bwd: dx from y and dy",
       "fwd",
       {"fwd", "bwd"}},
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& softmax_operation() {
  static const SoftmaxOperation operation;
  return operation;
}

}  // namespace deepbench
