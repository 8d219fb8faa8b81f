// The specification of embedding: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/embedding/embedding.hpp"
#include "deepbench/ops/embedding/reference.hpp"

namespace deepbench {
namespace {

constexpr int64_t kMaxTableRows = (int64_t{1} << 31) - 2;  // limit of 32-bit indices
constexpr int64_t kMaxLookups = (int64_t{1} << 31) - 1;    // limit of a 32-bit count
// If a larger share of the lookups requests a row again, caches serve a considerable part of them.
constexpr double kMostRepeated = 0.05;

class EmbeddingOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"gather", "embedding"}, {"embedding_bag", "embedding mode=sum"}};
  }
  std::string group_by() const override { return "phase"; }

  // Tokens of BERT-large and GPT-2, items of NCF, and features of DLRM.
  std::vector<std::string> default_problems(const Attributes&) const override {
    std::vector<std::string> lines;
    for (const char* const problem :
         {"rows=30522 dim=1024 lookups=512 batch=8", "rows=50257 dim=768 lookups=1024 batch=4",
          "rows=138493 dim=64 lookups=1 batch=65536",
          "rows=1000000 dim=64 lookups=32 batch=2048 mode=sum",
          "rows=1000000 dim=64 lookups=32 batch=2048 mode=sum indices=zipf"})
      for (const char* const phase : {"fwd", "bwd"})
        lines.push_back("embedding " + std::string(problem) + " phase=" + phase);
    return lines;
  }
  std::string default_problems_help() const override {
    return "lookups of the tables of BERT, GPT-2, NCF and DLRM, and their gradients";
  }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const Embedding e = embedding_problem(problem);
    checked_product("the size of the table in bytes", {e.rows, e.dim, 4});
    const int64_t lookups = checked_product("the number of lookups", {e.batch, e.lookups});
    if (lookups > kMaxLookups)
      throw InvalidProblem("batch * lookups = " + std::to_string(lookups) +
                           ": there may be at most " + std::to_string(kMaxLookups) + " lookups");
    checked_product("the size of the rows looked up in bytes", {2, lookups, e.dim, 4});
  }

  Work work(const Problem& problem) const override {
    return {0, embedding_problem(problem).traffic()};
  }
  bool is_limited_by_device(const Problem& problem) const override {
    const Embedding embedding = embedding_problem(problem);
    // A device may add to the table in its memory without reading it first.
    if (embedding.is_backward) return false;
    return embedding.expected_distinct_rows() >=
           (1 - kMostRepeated) * double(embedding.all_lookups());
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_embedding_output(embedding_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    return embedding_reference_bytes(embedding_problem(problem));
  }

 private:
  std::string name_ = "embedding";
  std::string help_ = "rows of a table, copied or added up by lookups, and the table's gradient";
  std::string example_ = "embedding rows=1000000 dim=64 lookups=32 batch=2048 mode=sum";
  std::vector<Parameter> parameters_ = {
      {"rows", ParameterKind::kInteger, "rows of the table", "", {}, 1, double(kMaxTableRows)},
      {"dim", ParameterKind::kInteger, "elements of a row"},
      {"lookups", ParameterKind::kInteger, "lookups of each entry of the batch", "1"},
      {"batch", ParameterKind::kInteger, "entries of the batch"},
      {"mode",
       ParameterKind::kChoice,
       "gather copies the row of every lookup; sum adds up the rows of an entry",
       "gather",
       {"gather", "sum"}},
      {"indices",
       ParameterKind::kChoice,
       "how often rows are looked up: all alike, or by Zipf's law with exponent 1",
       "uniform",
       {"uniform", "zipf"}},
      {"phase",
       ParameterKind::kChoice,
       "forward, or the gradient of the table",
       "fwd",
       {"fwd", "bwd"}},
      precision_parameter("float", {"float", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& embedding_operation() {
  static const EmbeddingOperation operation;
  return operation;
}

}  // namespace deepbench
