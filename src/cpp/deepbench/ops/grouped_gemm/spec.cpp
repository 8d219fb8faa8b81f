// The specification of grouped_gemm: parameters, validity, useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"
#include "deepbench/ops/grouped_gemm/reference.hpp"

namespace deepbench {
namespace {

constexpr double kMaxGroups = 1 << 16, kMaxRows = 1 << 24;

class GroupedGemmOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"moe", "grouped_gemm"}, {"experts", "grouped_gemm"}, {"grouped_mm", "grouped_gemm"}};
  }

  // The layers of mixtures of experts. On a device with its own memory, those of Mixtral 8x7B at
  // 2,048 tokens and at 16, of gpt-oss 20B, and of DeepSeek-V3 on one of eight devices; otherwise
  // those of Granite 3.0 1B, which are small.
  std::vector<std::string> default_problems(const Attributes& device) const override {
    const bool has_memory = !device.items().empty() && device.integer("shares_host_memory") == 0;
    if (!has_memory)
      return lines({"groups=32 rows=256 n=512 k=1024 split=uniform",
                    "groups=32 rows=256 n=512 k=1024 split=multinomial",
                    "groups=32 rows=256 n=512 k=1024 split=zipf",
                    "groups=32 rows=256 n=1024 k=512 split=multinomial"});
    return lines({"groups=8 rows=4096 n=14336 k=4096 split=multinomial",
                  "groups=8 rows=4096 n=4096 k=14336 split=multinomial",
                  "groups=8 rows=32 n=14336 k=4096 split=multinomial",
                  "groups=32 rows=4096 n=5760 k=2880 split=multinomial",
                  "groups=32 rows=4096 n=2048 k=7168 split=uniform",
                  "groups=32 rows=4096 n=2048 k=7168 split=multinomial",
                  "groups=32 rows=4096 n=2048 k=7168 split=zipf"});
  }
  std::string default_problems_help() const override { return "layers of mixtures of experts"; }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const std::string split = problem.text("split");
    if (split == "uniform" && problem.attributes().has("split_seed"))
      throw InvalidProblem("split_seed is a parameter only where rows draw their groups; use " +
                           std::string("split=multinomial or split=zipf"));
    const int64_t groups = problem.integer("groups"), rows = problem.integer("rows");
    const int64_t n = problem.integer("n"), k = problem.integer("k");
    const PrecisionInfo precision = precision_info(problem.text("precision"));
    checked_product("2 rows n k", {2, rows, n, k});
    checked_product("the size of A in bytes", {rows, k, size_of(precision.a)});
    checked_product("the size of B in bytes", {groups, k, n, size_of(precision.b)});
    checked_product("the size of C in bytes", {rows, n, size_of(precision.c)});
  }

  // C is only written, and the matrices of empty groups are not read.
  Work work(const Problem& problem) const override {
    const GroupedGemm of = grouped_gemm_problem(problem);
    const double rows = double(of.rows), n = double(of.n), k = double(of.k);
    const double a = rows * k * double(size_of(of.precision.a));
    const double b = double(of.groups_with_rows()) * k * n * double(size_of(of.precision.b));
    const double c = rows * n * double(size_of(of.precision.c));
    return {2 * rows * n * k, a + b + c};
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_grouped_gemm_output(grouped_gemm_problem(problem), conditions);
  }
  bool needs_exact_sums(const Problem& problem) const override {
    return grouped_gemm_problem(problem).needs_exact_sums();
  }
  double verification_bytes(const Problem& problem) const override {
    return grouped_gemm_verification_bytes(grouped_gemm_problem(problem));
  }

 private:
  std::vector<std::string> lines(std::vector<std::string> attributes) const {
    for (std::string& line : attributes) line.insert(0, name_ + " ");
    return attributes;
  }

  std::string name_ = "grouped_gemm";
  std::string help_ = "products of groups of rows with a matrix of each group, C_g = A_g B_g";
  std::string example_ = "grouped_gemm groups=8 rows=4096 n=14336 k=4096 split=multinomial";
  std::vector<Parameter> parameters_ = {
      Parameter{"groups",
                ParameterKind::kInteger,
                "matrices B_g, one for each group",
                "",
                {},
                1,
                kMaxGroups}
          .with_synonyms({"experts"}),
      Parameter{"rows",
                ParameterKind::kInteger,
                "rows of A and C, of all groups together",
                "",
                {},
                1,
                kMaxRows}
          .with_synonyms({"tokens"}),
      {"n", ParameterKind::kInteger, "columns of every B_g and of C"},
      {"k", ParameterKind::kInteger, "columns of A, rows of every B_g"},
      {"split",
       ParameterKind::kChoice,
       "rows of the groups: equal, or each row draws a group; zipf: group g with a probability in "
       "proportion to 1/(g+1). Groups may be empty",
       "uniform",
       {"uniform", "multinomial", "zipf"}},
      {"split_seed",
       ParameterKind::kInteger,
       "seed of the draws",
       "0",
       {},
       0,
       9.2e18,
       "",
       "",
       true},
      precision_parameter("float", {"float", "tf32", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& grouped_gemm_operation() {
  static const GroupedGemmOperation operation;
  return operation;
}

}  // namespace deepbench
