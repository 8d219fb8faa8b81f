// The specification of pool: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/pool/pool.hpp"
#include "deepbench/ops/pool/reference.hpp"

namespace deepbench {
namespace {

Parameter size_parameter(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "", {}, 1, 1e9};
}
Parameter optional_parameter(const char* name, const char* help, const char* default_text,
                             double minimum) {
  return {name, ParameterKind::kInteger, help, default_text, {}, minimum, 1e9};
}

void require_windows(const char* key, const char* window_key, int64_t size, int64_t window,
                     int64_t pad) {
  const std::string what = std::string(window_key) + "=" + std::to_string(window);
  if (pad >= window)
    throw InvalidProblem(std::string("pad_") + key + "=" + std::to_string(pad) +
                         ": must be less than the window's " + what +
                         ", or some window has no place within the image");
  if (window > size + 2 * pad)
    throw InvalidProblem("the output is empty: the window's " + what +
                         " exceeds the padded input's, " + key + " + 2 pad_" + key + " = " +
                         std::to_string(size + 2 * pad));
}

class PoolOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"pooling", "pool"}, {"maxpool", "pool kind=max"}, {"avgpool", "pool kind=average"}};
  }
  std::string group_by() const override { return "phase"; }

  // Layers of AlexNet, of ResNet-50 and of GoogLeNet.
  std::vector<std::string> default_problems(const Attributes&) const override {
    std::vector<std::string> lines;
    for (const char* const problem :
         {"kind=max n=32 c=96 h=55 w=55 r=3 s=3 stride_h=2 stride_w=2",
          "kind=max n=32 c=64 h=112 w=112 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
          "kind=max n=32 c=480 h=14 w=14 r=3 s=3 pad_h=1 pad_w=1",
          "kind=average n=32 c=2048 h=7 w=7 r=7 s=7",
          "kind=average n=32 c=288 h=35 w=35 r=3 s=3 pad_h=1 pad_w=1"})
      for (const char* const phase : {"fwd", "bwd"})
        lines.push_back("pool " + std::string(problem) + " phase=" + phase);
    return lines;
  }
  std::string default_problems_help() const override {
    return "pooling of AlexNet, ResNet-50, GoogLeNet and Inception, and its gradients";
  }

  void validate(const Problem& problem) const override {
    const Pool pool = pool_problem(problem);
    require_windows("h", "r", pool.h, pool.r, pool.pad_h);
    require_windows("w", "s", pool.w, pool.s, pool.pad_w);
    checked_product("the size of the input in bytes", {pool.n, pool.c, pool.h, pool.w, 4});
    checked_product("the size of the output in bytes", {pool.n, pool.c, pool.p(), pool.q(), 4});
    checked_product("the number of places in all windows",
                    {pool.n, pool.c, pool.p(), pool.q(), pool.r, pool.s});
  }

  Work work(const Problem& problem) const override { return {0, pool_problem(problem).traffic()}; }

  // The reference visits each place of each window.
  double host_generated_elements(const Problem& problem) const override {
    const Pool pool = pool_problem(problem);
    return double(pool.y_size()) * double(pool.r) * double(pool.s);
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_pool_output(pool_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return pool_reference_bytes(pool_problem(problem));
  }

 private:
  std::string name_ = "pool";
  std::string help_ = "maxima or averages of images in windows, and their gradients";
  std::string example_ =
      "pool kind=max n=32 c=64 h=112 w=112 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "maximum, or average of the places within the image",
       "max",
       {"max", "average"}},
      size_parameter("n", "batch"),
      size_parameter("c", "channels"),
      size_parameter("h", "height of the input"),
      size_parameter("w", "width of the input"),
      size_parameter("r", "height of a window"),
      size_parameter("s", "width of a window"),
      optional_parameter("pad_h", "rows outside the image that windows reach, above and below", "0",
                         0),
      optional_parameter("pad_w", "columns outside the image that windows reach, left and right",
                         "0", 0),
      optional_parameter("stride_h", "vertical step", "1", 1),
      optional_parameter("stride_w", "horizontal step", "1", 1),
      {"phase",
       ParameterKind::kChoice,
       "forward, or the gradient of the input",
       "fwd",
       {"fwd", "bwd"}},
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& pool_operation() {
  static const PoolOperation operation;
  return operation;
}

}  // namespace deepbench
