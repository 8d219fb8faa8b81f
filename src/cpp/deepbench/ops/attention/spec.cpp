// The specification of attention: parameters, validity, useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/attention/attention.hpp"
#include "deepbench/ops/attention/gradient_reference.hpp"
#include "deepbench/ops/attention/reference.hpp"

namespace deepbench {
namespace {

Parameter size_parameter(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "", {}, 1, 1e9};
}
// The limit is lower, because useful work is counted query by query.
Parameter sequence_parameter(const char* name, const char* help) {
  return {name, ParameterKind::kInteger, help, "", {}, 1, 1e7};
}
Parameter optional_parameter(const char* name, const char* help) {
  Parameter parameter = {name, ParameterKind::kInteger, help, "0", {}, 0, 1e9};
  parameter.omitted_at_default = true;
  return parameter;
}

Parameter sink_parameter() {
  Parameter parameter = {"sink",
                         ParameterKind::kChoice,
                         "yes: the softmax of each head also has one learned logit without a value",
                         "no",
                         {"no", "yes"}};
  parameter.omitted_at_default = true;
  return parameter;
}

class AttentionOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"sdpa", "attention"}, {"mha", "attention"}, {"flash_attention", "attention"}};
  }

  std::vector<std::string> default_problems(const Attributes& device) const override {
    std::vector<std::string> lines = {
        "attention batch=1 heads=16 seq_q=384 seq_kv=384 dim=64",
        "attention batch=1 heads=16 seq_q=512 seq_kv=512 dim=64",
        "attention batch=1 heads=32 kv_heads=8 seq_q=1 seq_kv=2048 dim=128 mask=bottom_right",
        "attention batch=1 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 dim=128 mask=bottom_right",
    };
    if (device.items().empty() || device.integer("shares_host_memory") != 0)
      lines.push_back("attention batch=1 heads=16 seq_q=512 seq_kv=512 dim=64 phase=bwd");
    else
      lines.insert(
          lines.end(),
          {"attention batch=16 heads=32 kv_heads=8 seq_q=1 seq_kv=2048 dim=128 mask=bottom_right",
           "attention batch=16 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 dim=128 mask=bottom_right",
           "attention batch=1 heads=32 kv_heads=8 seq_q=2048 seq_kv=2048 dim=128 mask=top_left",
           "attention batch=1 heads=32 kv_heads=8 seq_q=2048 seq_kv=2048 dim=128 mask=top_left "
           "phase=bwd",
           "attention batch=1 heads=128 seq_q=2048 seq_kv=2048 dim=192 dim_v=128 mask=top_left",
           "attention batch=16 heads=128 kv_heads=1 seq_q=1 seq_kv=2048 dim=576 dim_v=512 "
           "mask=bottom_right"});
    return lines;
  }
  std::string default_problems_help() const override {
    return "layers of BERT-large and Llama 3 8B with a gradient; on a GPU also larger batches, "
           "prefill and DeepSeek";
  }

  bool has_stored_operands(const Problem& problem) const override {
    return problem.integer("seq_q") < problem.integer("seq_kv");
  }

  void validate(const Problem& problem) const override {
    const Attention a = attention_problem(problem);
    if (a.heads % a.kv_heads)
      throw InvalidProblem("kv_heads=" + std::to_string(a.kv_heads) +
                           " does not divide heads=" + std::to_string(a.heads));
    if (a.window > 0 && a.mask == AttentionMask::kNone)
      throw InvalidProblem("window=" + std::to_string(a.window) +
                           " counts keys up to a query's own: it needs mask=top_left or "
                           "mask=bottom_right");
    checked_product("2 batch heads seq_q seq_kv (3 dim + 2 dim_v)",
                    {2, a.batch, a.heads, a.seq_q, a.seq_kv, 3 * a.dim + 2 * a.dim_v});
    const int64_t bytes = size_of(a.type());
    checked_product("the size of Q in bytes", {a.batch, a.heads, a.seq_q, a.dim, bytes});
    checked_product("the size of O in bytes", {a.batch, a.heads, a.seq_q, a.dim_v, bytes});
    checked_product("the size of K in bytes", {a.batch, a.kv_heads, a.seq_kv, a.dim, bytes});
    checked_product("the size of V in bytes", {a.batch, a.kv_heads, a.seq_kv, a.dim_v, bytes});
  }

  Work work(const Problem& problem) const override {
    const Attention attention = attention_problem(problem);
    return {attention.flops(), attention.bytes()};
  }

  std::vector<std::string> outputs(const Problem& problem) const override {
    const Attention a = attention_problem(problem);
    if (!a.is_backward) return {"output"};
    if (!a.has_sink) return {"dq", "dk", "dv"};
    return {"dq", "dk", "dv", "dsink"};
  }
  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    const Attention a = attention_problem(problem);
    return a.is_backward ? expected_attention_gradient(a, conditions)
                         : expected_attention_output(a, conditions);
  }
  // With scores of 0 every output is known without an exponential. This verifies the masks, and the
  // values of a long sequence, whose weights are far below the rounding error of a sum of random
  // values.
  bool needs_exact_sums(const Problem&) const override { return true; }
  double verification_bytes(const Problem& problem) const override {
    const Attention a = attention_problem(problem);
    return a.is_backward ? attention_gradient_reference_bytes(a) : attention_reference_bytes(a);
  }

 private:
  std::string name_ = "attention";
  std::string help_ = "scaled dot-product attention O = softmax(Q K^T / sqrt(dim)) V of all heads";
  std::string example_ =
      "attention batch=1 heads=32 kv_heads=8 seq_q=2048 seq_kv=2048 dim=128 mask=top_left";
  std::vector<Parameter> parameters_ = {
      size_parameter("batch", "sequences"),
      size_parameter("heads", "heads of queries"),
      optional_parameter("kv_heads", "heads of keys and values, which divide heads; 0: as many")
          .with_synonyms({"num_key_value_heads"}),
      sequence_parameter("seq_q", "queries of each sequence; 1 in decoding"),
      sequence_parameter("seq_kv", "keys and values of each sequence"),
      size_parameter("dim", "elements of a query and a key").with_synonyms({"head_dim"}),
      optional_parameter("dim_v", "elements of a value and an output; 0: dim"),
      {"mask",
       ParameterKind::kChoice,
       "the keys that a query sees: all; with top_left, query i sees keys 0 to i; with "
       "bottom_right, the last query sees all keys",
       "none",
       {"none", "top_left", "bottom_right"}},
      optional_parameter("window", "the most keys that a query sees, its own included; 0: all"),
      sink_parameter(),
      {"phase",
       ParameterKind::kChoice,
       "fwd computes O; bwd the gradients of Q, K, V and the sinks from that of O",
       "fwd",
       {"fwd", "bwd"}},
      precision_parameter("float", {"float", "tf32", "half", "bfloat16"}),
  };
};

}  // namespace

const Operation& attention_operation() {
  static const AttentionOperation operation;
  return operation;
}

}  // namespace deepbench
