// conv: parameters, validity and useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {
namespace {

Parameter size(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "", {}, 1, 1e9};
}
Parameter optional(const char* name, const char* help, const char* fallback, double minimum) {
  return {name, ParameterKind::kInteger, help, fallback, {}, minimum, 1e9};
}

class ConvOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::string group_by() const override { return "phase"; }

  void validate(const Problem& problem) const override {
    const Conv conv = conv_problem(problem);
    if (conv.c % conv.groups || conv.k % conv.groups)
      throw InvalidProblem("groups=" + std::to_string(conv.groups) + " must divide c and k");
    if (conv.p() < 1 || conv.q() < 1)
      throw InvalidProblem("the filter is larger than the padded input: the output is empty");
    checked_product("the size of the input in bytes", {conv.n, conv.c, conv.h, conv.w, 4});
    checked_product("the size of the filter in bytes", {conv.k, conv.c, conv.r, conv.s, 4});
    checked_product("the size of the output in bytes", {conv.n, conv.k, conv.p(), conv.q(), 4});
  }

  Work work(const Problem& problem) const override {
    const Conv conv = conv_problem(problem);
    const double x = double(conv.n) * double(conv.c) * double(conv.h) * double(conv.w);
    const double f =
        double(conv.k) * double(conv.c / conv.groups) * double(conv.r) * double(conv.s);
    const double y = double(conv.n) * double(conv.k) * double(conv.p()) * double(conv.q());
    return {conv.flops(), x * double(size_of(conv.precision.a)) +
                              f * double(size_of(conv.precision.b)) +
                              y * double(size_of(conv.precision.c))};
  }

 private:
  std::string name_ = "conv";
  std::string help_ = "two-dimensional convolution, as cross-correlation in every precision";
  std::string example_ =
      "conv w=56 h=56 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1";
  std::vector<Parameter> parameters_ = {
      size("w", "width of the input"),
      size("h", "height of the input"),
      size("c", "channels of the input"),
      size("n", "batch"),
      size("k", "filters: channels of the output"),
      size("s", "width of the filter"),
      size("r", "height of the filter"),
      optional("pad_w", "zeros added left and right", "0", 0),
      optional("pad_h", "zeros added above and below", "0", 0),
      optional("stride_w", "horizontal step", "1", 1),
      optional("stride_h", "vertical step", "1", 1),
      optional("dilation_w", "horizontal distance of the filter's taps", "1", 1),
      optional("dilation_h", "vertical distance of the filter's taps", "1", 1),
      optional("groups", "groups of channels", "1", 1),
      {"phase",
       ParameterKind::kChoice,
       "forward, or a gradient",
       "fwd",
       {"fwd", "bwd_data", "bwd_filter"}},
      {"layout",
       ParameterKind::kChoice,
       "of the activations; library: its own choice",
       "library",
       {"library", "nchw", "nhwc"}},
      precision_parameter("float"),
  };
};

}  // namespace

const Operation& conv_operation() {
  static const ConvOperation operation;
  return operation;
}

}  // namespace deepbench
