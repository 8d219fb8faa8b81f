// The specification of activation: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/activation/activation.hpp"
#include "deepbench/ops/activation/reference.hpp"
#include "deepbench/ops/all_ops.hpp"

namespace deepbench {
namespace {

class ActivationOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"relu", "activation kind=relu"},
            {"gelu", "activation kind=gelu"},
            {"silu", "activation kind=silu"},
            {"swish", "activation kind=silu"},
            {"sigmoid", "activation kind=sigmoid"},
            {"tanh", "activation kind=tanh"},
            {"eltwise", "activation"}};
  }
  std::string group_by() const override { return "phase"; }

  // The first layer of ResNet-50 for 16 images, the wide layers of BERT-large for 2048 tokens and
  // of Llama-3-8B for 512, and the gates of 64 sequences in a layer of 4096 units.
  std::vector<std::string> default_problems(const Attributes&) const override {
    std::vector<std::string> lines;
    for (const char* const problem :
         {"kind=relu elements=12845056", "kind=gelu elements=8388608", "kind=silu elements=7340032",
          "kind=sigmoid elements=262144", "kind=tanh elements=262144"})
      for (const char* const phase : {"fwd", "bwd"})
        lines.push_back(std::string("activation ") + problem + " phase=" + phase);
    return lines;
  }
  std::string default_problems_help() const override {
    return "each kind at the size of a layer that has it, in both phases";
  }

  void validate(const Problem& problem) const override {
    const Activation activation = activation_problem(problem);
    checked_product("the size of all arrays in bytes",
                    {int64_t(activation.elements), 3, size_of(activation.type())});
  }

  Work work(const Problem& problem) const override {
    return {0, activation_problem(problem).traffic()};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_activation_output(activation_problem(problem), conditions);
  }

 private:
  std::string name_ = "activation";
  std::string help_ = "activation of each element, and its gradient";
  std::string example_ = "activation kind=gelu elements=4194304 phase=fwd precision=float";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "function; gelu by the error function, silu is also called swish",
       "relu",
       {"relu", "gelu", "silu", "sigmoid", "tanh"},
       0,
       0,
       "",
       "",
       false,
       {{"swish", "silu"}}},
      Parameter{"elements", ParameterKind::kInteger, "elements of each array"}.with_synonyms(
          {"count", "n"}),
      {"phase",
       ParameterKind::kChoice,
       "fwd: y from x; bwd: dx from dy and x, or y for sigmoid and tanh",
       "fwd",
       {"fwd", "bwd"}},
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& activation_operation() {
  static const ActivationOperation operation;
  return operation;
}

}  // namespace deepbench
