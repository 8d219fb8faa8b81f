// The specification of norm: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/norm/norm.hpp"
#include "deepbench/ops/norm/reference.hpp"

namespace deepbench {
namespace {

Parameter norm_precision() {
  Parameter parameter = precision_parameter("float", {"float", "half", "bfloat16"});
  parameter.help = "type of x, y and their gradients; scale, shift and statistics are float";
  return parameter;
}

std::string output_name(NormPart part) {
  switch (part) {
    case NormPart::kMean:
      return "mean";
    case NormPart::kSpread:
      return "deviation";
    case NormPart::kDx:
      return "dx";
    case NormPart::kDscale:
      return "dscale";
    case NormPart::kDshift:
      return "dshift";
    default:
      return "y";
  }
}

class NormOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"batch_norm", "norm kind=batch"}, {"batchnorm", "norm kind=batch"},
            {"bnorm", "norm kind=batch"},      {"layer_norm", "norm kind=layer"},
            {"layernorm", "norm kind=layer"},  {"lnorm", "norm kind=layer"},
            {"rms_norm", "norm kind=rms"},     {"rmsnorm", "norm kind=rms"},
            {"group_norm", "norm kind=group"}, {"groupnorm", "norm kind=group"}};
  }
  // Layers of ResNet-50 at batch 32, of BERT-large at 4096 tokens, of Llama-3-8B at 2048 tokens,
  // and a stage of Stable Diffusion's U-Net at batch 2.
  std::vector<std::string> default_problems(const Attributes&) const override {
    return {"norm kind=batch rows=25088 columns=256 phase=training",
            "norm kind=batch rows=25088 columns=256 phase=inference",
            "norm kind=batch rows=25088 columns=256 phase=bwd",
            "norm kind=layer rows=4096 columns=1024 phase=training",
            "norm kind=layer rows=4096 columns=1024 phase=bwd",
            "norm kind=rms rows=2048 columns=4096 phase=inference",
            "norm kind=rms rows=2048 columns=4096 phase=bwd",
            "norm kind=group rows=2 columns=1310720 groups=32 phase=inference"};
  }
  std::string default_problems_help() const override {
    return "layers of ResNet-50, BERT-large, Llama-3-8B and a U-Net";
  }

  void validate(const Problem& problem) const override {
    const Norm norm = norm_problem(problem);
    checked_product("the size of x in bytes", {norm.rows, norm.columns, 8});
    if (norm.columns % norm.groups != 0)
      throw InvalidProblem("groups=" + std::to_string(norm.groups) +
                           " does not divide columns=" + std::to_string(norm.columns));
  }

  Work work(const Problem& problem) const override { return {0, norm_problem(problem).traffic()}; }

  std::vector<std::string> outputs(const Problem& problem) const override {
    std::vector<std::string> names;
    for (const NormPart part : norm_problem(problem).outputs()) names.push_back(output_name(part));
    return names;
  }
  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_norm_output(norm_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return norm_reference_bytes(norm_problem(problem));
  }

 private:
  std::string name_ = "norm";
  std::string help_ = "batch, layer, RMS or group normalization with scale and shift";
  std::string example_ = "norm kind=layer rows=4096 columns=1024 phase=training";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "what is normalized together: a column (batch), a row (layer, rms) or a part of it (group)",
       "",
       {"batch", "layer", "rms", "group"}},
      Parameter{"rows", ParameterKind::kInteger, "samples, positions or tokens", "", {}, 1, 1e12}
          .with_synonyms({"batch", "tokens", "n"}),
      Parameter{"columns", ParameterKind::kInteger, "features or channels", "", {}, 1, 1e12}
          .with_synonyms({"hidden", "hidden_size", "channels", "c"}),
      {"groups",
       ParameterKind::kInteger,
       "equal parts of a row, each normalized by itself",
       "32",
       {},
       1,
       1e12,
       "kind",
       "group"},
      {"phase",
       ParameterKind::kChoice,
       "training leaves the statistics beside y; bwd computes all gradients from them",
       "training",
       {"training", "inference", "bwd"}},
      norm_precision(),
  };
};

}  // namespace

const Operation& norm_operation() {
  static const NormOperation operation;
  return operation;
}

}  // namespace deepbench
