// The specification of elementwise: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/elementwise/elementwise.hpp"
#include "deepbench/ops/elementwise/reference.hpp"

namespace deepbench {
namespace {

class ElementwiseOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"add", "elementwise kind=add"},           {"residual", "elementwise kind=add"},
            {"multiply", "elementwise kind=multiply"}, {"mul", "elementwise kind=multiply"},
            {"swiglu", "elementwise kind=swiglu"},     {"rotary", "elementwise kind=rotary"},
            {"rope", "elementwise kind=rotary"},       {"binary", "elementwise"}};
  }

  // The first blocks of ResNet-50 for 16 images, Llama-3-8B at 2048 tokens, and gates of as many
  // elements.
  std::vector<std::string> default_problems(const Attributes&) const override {
    return {"elementwise kind=add rows=50176 columns=256",
            "elementwise kind=add rows=2048 columns=4096",
            "elementwise kind=multiply rows=2048 columns=4096",
            "elementwise kind=swiglu rows=2048 columns=14336",
            "elementwise kind=rotary rows=2048 columns=5120 dim=128"};
  }
  std::string default_problems_help() const override {
    return "sums of ResNet-50, and every kind at the size of Llama-3-8B";
  }

  void validate(const Problem& problem) const override {
    const Elementwise elementwise = elementwise_problem(problem);
    checked_product("the size of all arrays in bytes",
                    {elementwise.rows, elementwise.columns, 3, size_of(elementwise.type())});
    if (!elementwise.is_rotary()) return;
    const std::string dim = "dim=" + std::to_string(elementwise.dim);
    if (elementwise.dim % 2 != 0) throw InvalidProblem(dim + " is odd: rotary turns pairs");
    if (elementwise.columns % elementwise.dim != 0)
      throw InvalidProblem(dim + " does not divide columns=" + std::to_string(elementwise.columns));
  }

  Work work(const Problem& problem) const override {
    return {0, elementwise_problem(problem).traffic()};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_elementwise_output(elementwise_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return elementwise_reference_bytes(elementwise_problem(problem));
  }

 private:
  std::string name_ = "elementwise";
  std::string help_ = "sums, products, gated activations and rotary embeddings of each element";
  std::string example_ = "elementwise kind=swiglu rows=2048 columns=14336 precision=bfloat16";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "add: a + b; multiply: a b; swiglu: silu(a) b; rotary: rotary embedding of heads",
       "",
       {"add", "multiply", "swiglu", "rotary"},
       0,
       0,
       "",
       "",
       false,
       {{"mul", "multiply"}, {"sum", "add"}, {"rope", "rotary"}}},
      Parameter{"rows", ParameterKind::kInteger, "tokens or positions", "", {}, 1, 1e12}
          .with_synonyms({"batch", "tokens", "n"}),
      Parameter{"columns", ParameterKind::kInteger, "features or channels", "", {}, 1, 1e12}
          .with_synonyms({"hidden", "hidden_size", "channels", "c"}),
      Parameter{"dim",
                ParameterKind::kInteger,
                "elements of a head, whose halves are turned",
                "128",
                {},
                2,
                1e12,
                "kind",
                "rotary"}
          .with_synonyms({"head_dim"}),
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& elementwise_operation() {
  static const ElementwiseOperation operation;
  return operation;
}

}  // namespace deepbench
