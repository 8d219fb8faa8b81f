// The specification of gemm: parameters, validity, useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/product_reference.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/gemm/reference.hpp"

namespace deepbench {
namespace {

constexpr double kMaxBatch = 1 << 20;

void require_scaled_blocks(const Gemm& gemm) {
  if (!gemm.is_fp8())
    throw InvalidProblem("scaling=block128: only fp8_e4m3 and fp8_e5m2 have scales");
  if (gemm.k % Gemm::kScaleBlock)
    throw InvalidProblem("scaling=block128: k must be a multiple of 128, not " +
                         std::to_string(gemm.k));
  if (gemm.batch > 1) throw InvalidProblem("scaling=block128: a batch has no scales of blocks");
}

class GemmOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"matmul", "gemm"}, {"mm", "gemm"},    {"sgemm", "gemm"}, {"hgemm", "gemm"},
            {"igemm", "gemm"},  {"dense", "gemm"}, {"linear", "gemm"}};
  }
  std::vector<std::string> constant_operands() const override { return {"a", "b"}; }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const Gemm gemm = gemm_problem(problem);
    if (gemm.has_epilogue() && size_of(gemm.precision.a) == 1)
      throw InvalidProblem("epilogue=" + problem.text("epilogue") +
                           ": products of 8-bit operands have no epilogue");
    if (gemm.scales_blocks) require_scaled_blocks(gemm);
    const int64_t batch = gemm.batch;
    checked_product(batch == 1 ? "2 m n k" : "2 m n k batch", {2, gemm.m, gemm.n, gemm.k, batch});
    checked_product("the size of A in bytes", {gemm.m, gemm.k, size_of(gemm.precision.a), batch});
    checked_product("the size of B in bytes", {gemm.k, gemm.n, size_of(gemm.b_type), batch});
    checked_product("the size of C in bytes", {gemm.m, gemm.n, size_of(gemm.precision.c), batch});
  }

  // C is read and written: alpha = beta = 1. With an epilogue it is written only, and the bias is
  // read.
  Work work(const Problem& problem) const override {
    const Gemm gemm = gemm_problem(problem);
    const double a = double(gemm.m) * double(gemm.k) * double(size_of(gemm.precision.a));
    const double b = double(gemm.k) * double(gemm.n) * double(size_of(gemm.b_type));
    const double c = double(gemm.m) * double(gemm.n) * double(size_of(gemm.precision.c));
    const double batch = double(gemm.batch);
    if (gemm.has_epilogue())
      return {gemm.flops(), (a + b + c) * batch + double(gemm.m * size_of(gemm.precision.c))};
    return {gemm.flops(), (a + b + 2 * c) * batch + gemm.scale_bytes()};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_gemm_output(gemm_problem(problem), conditions);
  }
  // Only sums of 8-bit operands are ever kept in other than 32 bits, and only for int8 is there a
  // library that cannot add C exactly.
  bool permits_condition(const Problem& problem, std::string_view name,
                         const Value& value) const override {
    const Gemm gemm = gemm_problem(problem);
    const PrecisionInfo precision = gemm.precision;
    const std::string text = to_text(value);
    const bool is_int8 = precision.precision == Precision::kInt8;
    if (gemm.has_epilogue() && text == "rounded_product") return false;  // there is no C
    if (name == "accumulator" && text == "approximate_tanh")
      return gemm.epilogue == Epilogue::kGelu && size_of(precision.c) <= 2;
    if (name == "arithmetic") return precision.precision == Precision::kTf32 && text == "float";
    if (name == "beta") return is_int8 && text == "0";
    if (name == "fill.a" || name == "fill.b") return is_int8 && (text == "s7" || text == "u8");
    if (name != "accumulator") return false;
    if (text == "float") return is_int8;
    if (text == "fp22") return size_of(precision.a) == 1 && !is_int8;
    return text == "rounded_product" && size_of(precision.c) <= 2;
  }
  bool needs_exact_sums(const Problem& problem) const override {
    return gemm_problem(problem).needs_exact_sums();
  }
  double verification_bytes(const Problem& problem) const override {
    const Gemm gemm = gemm_problem(problem);
    return ProductReference::host_memory_bytes(gemm.m, gemm.n * gemm.batch, gemm.k, gemm.batch,
                                               !is_nonlinear(gemm.epilogue));
  }

 private:
  std::string name_ = "gemm";
  std::string help_ = "dense matrix product C = op(A) op(B) + C, column-major";
  std::string example_ = "gemm m=1760 n=128 k=1760 trans_a=n trans_b=n precision=float";
  std::vector<Parameter> parameters_ = {
      {"m", ParameterKind::kInteger, "rows of op(A) and C"},
      {"n", ParameterKind::kInteger, "columns of op(B) and C"},
      {"k", ParameterKind::kInteger, "columns of op(A), rows of op(B)"},
      Parameter{"trans_a", ParameterKind::kChoice, "t: A is stored k x m", "n", {"n", "t"}}
          .with_synonyms({"transpose_a"})
          .with_title("a_t"),
      Parameter{"trans_b", ParameterKind::kChoice, "t: B is stored n x k", "n", {"n", "t"}}
          .with_synonyms({"transpose_b"})
          .with_title("b_t"),
      precision_parameter("float"),
      {"b_type",
       ParameterKind::kChoice,
       "int8: B is signed, or unsigned for libraries that require it",
       "s8",
       {"s8", "u8"},
       1,
       1,
       "precision",
       "int8"},
      {"batch",
       ParameterKind::kInteger,
       "number of products of these dimensions, each with its own A, B and C",
       "1",
       {},
       1,
       kMaxBatch,
       "",
       "",
       true},
      {"epilogue",
       ParameterKind::kChoice,
       "what follows the product instead of adding C: a bias of m elements, and relu or gelu of "
       "the sum",
       "none",
       {"none", "bias", "relu", "gelu"},
       1,
       1,
       "",
       "",
       true},
      {"scaling",
       ParameterKind::kChoice,
       "fp8: one scale for each operand, or one for each 128 x 128 elements of A and each 128 of B "
       "along k",
       "tensor",
       {"tensor", "block128"},
       1,
       1,
       "",
       "",
       true},
  };
};

}  // namespace

const Operation& gemm_operation() {
  static const GemmOperation operation;
  return operation;
}

}  // namespace deepbench
