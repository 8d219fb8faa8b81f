// The specification of conv: parameters, validity, useful work.
#include <algorithm>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/conv/conv.hpp"
#include "deepbench/ops/conv/reference.hpp"
#include "deepbench/ops/conv/transform_factor.hpp"

namespace deepbench {
namespace {

Parameter size_parameter(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "", {}, 1, 1e9};
}
Parameter optional_parameter(const char* name, const char* help, const char* default_text,
                             double minimum) {
  return {name, ParameterKind::kInteger, help, default_text, {}, minimum, 1e9};
}
// The limit is far above the width of any filter. Larger padding would only add outputs that are
// zero, and the reference would compute them all.
Parameter padding_parameter(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "0", {}, 0, 1e5};
}
Parameter omit_at_default(Parameter parameter) {
  parameter.omitted_at_default = true;
  return parameter;
}

std::string with_float(const Problem& problem) {
  Attributes attributes = problem.attributes();
  attributes.set("precision", std::string("float"));
  std::string line = problem.op();
  for (const auto& [name, value] : attributes.items()) line += " " + name + "=" + to_text(value);
  return line;
}

// Whether the value is the factor of Winograd's algorithm or of an FFT.
bool is_transform_factor(const Conv& conv, const Value& value) {
  constexpr double kRounding = 1 + 1e-9;
  const auto* const factor = std::get_if<double>(&value);
  return factor && *factor <= kRounding * std::max(winograd_factor(conv), fft_factor(conv));
}

void require_output(const char* what, const char* key, int64_t size, int64_t filter, int64_t pad,
                    int64_t dilation) {
  if (Conv::output_extent(size, filter, pad, 1, dilation) >= 1) return;
  throw InvalidProblem(std::string("the output is empty: the dilated filter's ") + what + ", " +
                       std::to_string(dilation * (filter - 1) + 1) +
                       ", exceeds the padded input's, " + key + " + 2 pad_" + key + " = " +
                       std::to_string(size + 2 * pad));
}

void require_divisible(const char* key, int64_t channels, int64_t groups) {
  if (channels % groups)
    throw InvalidProblem("groups=" + std::to_string(groups) + " does not divide " + key + "=" +
                         std::to_string(channels));
}

class ConvOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"conv2d", "conv"}, {"conv3d", "conv"}, {"convolution", "conv"}};
  }
  std::string group_by() const override { return "phase"; }

  std::vector<std::string> constant_operands() const override { return {"w"}; }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const Conv conv = conv_problem(problem);
    require_divisible("c", conv.c, conv.groups);
    require_divisible("k", conv.k, conv.groups);
    require_output("width", "w", conv.w, conv.s, conv.pad_w, conv.dilation_w);
    require_output("height", "h", conv.h, conv.r, conv.pad_h, conv.dilation_h);
    require_output("depth", "d", conv.d, conv.t, conv.pad_d, conv.dilation_d);
    checked_product("the size of the input in bytes", {conv.n, conv.c, conv.d, conv.h, conv.w, 4});
    checked_product("the size of the filter in bytes",
                    {conv.k, conv.group_c(), conv.t, conv.r, conv.s, 4});
    checked_product("the size of the output in bytes",
                    {conv.n, conv.k, conv.o(), conv.p(), conv.q(), 4});
    checked_product("the number of operations", {2, conv.n, conv.k, conv.group_c(), conv.t, conv.r,
                                                 conv.s, conv.o(), conv.p(), conv.q()});
  }

  Work work(const Problem& problem) const override {
    const Conv conv = conv_problem(problem);
    const auto bytes = [](int64_t elements, deepbench_type type) {
      return double(elements) * double(size_of(type));
    };
    return {conv.flops(), bytes(conv.x_size(), conv.x_type) +
                              bytes(conv.w_size(), conv.precision.b) +
                              bytes(conv.y_size(), conv.precision.c)};
  }

  // Compares a row in tf32 with the same problem in float: tf32 is meant to be faster, and the
  // default of a library may not be.
  std::vector<Baseline> baselines(const Problem& problem) const override {
    if (problem.text("precision") != "tf32") return {};
    constexpr double kMostSpeed = 1.5;
    return {{"float baseline", "float_time", "speedup_over_float", with_float(problem),
             /*optional=*/false, kMostSpeed}};
  }
  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_conv_output(conv_problem(problem), conditions);
  }
  bool permits_condition(const Problem& problem, std::string_view name,
                         const Value& value) const override {
    const PrecisionInfo precision = conv_problem(problem).precision;
    const std::string text = to_text(value);
    const bool is_int8 = precision.precision == Precision::kInt8;
    if (name == "arithmetic") return precision.precision == Precision::kTf32 && text == "float";
    if (name == "transform_factor") return is_transform_factor(conv_problem(problem), value);
    if (name == "fill.x" || name == "fill.w" || name == "fill.dy")
      return is_int8 && (text == "s7" || text == "u8");
    if (name != "accumulator") return false;
    if (text == "float") return is_int8;
    if (text == "fp22") return size_of(precision.a) == 1 && !is_int8;
    return text == "winograd";
  }
  double verification_bytes(const Problem& problem) const override {
    return conv_reference_bytes(conv_problem(problem));
  }

 private:
  std::string name_ = "conv";
  std::string help_ = "convolution (cross-correlation) in two or three dimensions";
  std::string example_ =
      "conv w=56 h=56 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1";
  std::vector<Parameter> parameters_ = {
      size_parameter("w", "width of the input"),
      size_parameter("h", "height of the input"),
      size_parameter("c", "channels of the input"),
      size_parameter("n", "batch"),
      size_parameter("k", "filters: channels of the output"),
      size_parameter("s", "width of the filter"),
      size_parameter("r", "height of the filter"),
      padding_parameter("pad_w", "zeros added left and right"),
      padding_parameter("pad_h", "zeros added above and below"),
      optional_parameter("stride_w", "horizontal step", "1", 1),
      optional_parameter("stride_h", "vertical step", "1", 1),
      optional_parameter("dilation_w", "horizontal distance of the filter's taps", "1", 1),
      optional_parameter("dilation_h", "vertical distance of the filter's taps", "1", 1),
      optional_parameter("groups", "groups of channels", "1", 1),
      {"phase",
       ParameterKind::kChoice,
       "forward, or a gradient",
       "fwd",
       {"fwd", "bwd_data", "bwd_filter"}},
      {"layout",
       ParameterKind::kChoice,
       "layout of the activations; library: the library chooses",
       "library",
       {"library", "nchw", "nhwc"}},
      precision_parameter("float"),
      {"x_type",
       ParameterKind::kChoice,
       "int8: the activations are signed, or unsigned for libraries that require it",
       "s8",
       {"s8", "u8"},
       1,
       1,
       "precision",
       "int8"},
      omit_at_default({"y_type",
                       ParameterKind::kChoice,
                       "int8: outputs are 32-bit sums, or scaled, rounded and saturated to 8 bits",
                       "s32",
                       {"s32", "s8"},
                       1,
                       1,
                       "precision",
                       "int8"}),
      omit_at_default(optional_parameter("d", "depth of the input, for three dimensions", "1", 1)),
      omit_at_default(optional_parameter("t", "depth of the filter", "1", 1)),
      omit_at_default(padding_parameter("pad_d", "zeros added in front and behind")),
      omit_at_default(optional_parameter("stride_d", "step in depth", "1", 1)),
      omit_at_default(
          optional_parameter("dilation_d", "distance in depth of the filter's taps", "1", 1)),
  };
};

}  // namespace

const Operation& conv_operation() {
  static const ConvOperation operation;
  return operation;
}

}  // namespace deepbench
