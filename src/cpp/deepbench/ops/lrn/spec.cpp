// The specification of lrn: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/lrn/lrn.hpp"
#include "deepbench/ops/lrn/reference.hpp"

namespace deepbench {
namespace {

constexpr double kLargestSize = 15;  // the largest size that all libraries support

class LrnOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }

  // The two layers of AlexNet and the two of GoogLeNet.
  std::vector<std::string> default_problems(const Attributes&) const override {
    return {"lrn n=32 c=96 h=55 w=55 size=5", "lrn n=32 c=256 h=27 w=27 size=5",
            "lrn n=32 c=64 h=56 w=56 size=5", "lrn n=32 c=192 h=56 w=56 size=5"};
  }
  std::string default_problems_help() const override { return "layers of AlexNet and GoogLeNet"; }

  // An even number of channels is invalid, because libraries center it differently.
  void validate(const Problem& problem) const override {
    const Lrn lrn = lrn_problem(problem);
    if (lrn.size % 2 == 0)
      throw InvalidProblem("size=" + std::to_string(lrn.size) +
                           ": must be odd, so that as many channels lie on either side");
    checked_product("the size of the input in bytes", {lrn.n, lrn.c, lrn.h, lrn.w, 4});
  }

  Work work(const Problem& problem) const override { return {0, lrn_problem(problem).traffic()}; }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_lrn_output(lrn_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return lrn_reference_bytes(lrn_problem(problem));
  }

 private:
  static Parameter extent(const char* name, const char* help) {
    return {name, ParameterKind::kInteger, help, "", {}, 1, 1e9};
  }

  std::string name_ = "lrn";
  std::string help_ = "local response normalization across channels";
  std::string example_ = "lrn n=32 c=96 h=55 w=55 size=5";
  std::vector<Parameter> parameters_ = {
      extent("n", "batch"),
      extent("c", "channels"),
      extent("h", "height"),
      extent("w", "width"),
      {"size",
       ParameterKind::kInteger,
       "channels that normalize one, an odd number",
       "5",
       {},
       1,
       kLargestSize},
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& lrn_operation() {
  static const LrnOperation operation;
  return operation;
}

}  // namespace deepbench
