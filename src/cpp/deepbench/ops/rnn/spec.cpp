// The specification of rnn: parameters, validity, useful work.
#include <algorithm>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/rnn/reference.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {
namespace {

class RnnOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"lstm", "rnn cell=lstm"}, {"gru", "rnn cell=gru"}, {"vanilla", "rnn cell=vanilla"}};
  }
  std::string group_by() const override { return "phase"; }
  std::vector<std::string> constant_operands() const override { return {"u"}; }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const Rnn rnn = rnn_problem(problem);
    if (!rnn.is_training() && !rnn.is_forward())
      throw InvalidProblem("mode=inference supports only phase=fwd");
    // Gradients may be stored in float even if the operands are narrower.
    const int64_t width = std::max<int64_t>(4, size_of(rnn.precision.c));
    checked_product("the size of the weights in bytes",
                    {rnn.gates(), rnn.hidden, rnn.hidden, width});
    checked_product("the size of the sequence in bytes",
                    {rnn.timesteps, rnn.batch, rnn.hidden, width});
  }

  // Counts the recurrent weights once, and the input and output of every step once, in the type of
  // the operands. For int8 too: its steps exchange bytes even if a library stores them in a wider
  // type.
  Work work(const Problem& problem) const override {
    const Rnn rnn = rnn_problem(problem);
    const double sequence = double(rnn.timesteps) * double(rnn.batch) * double(rnn.hidden);
    const auto width = double(size_of(rnn.precision.a));
    Work work = {rnn.flops(), (double(rnn.weights()) + 2 * sequence) * width};
    work.steps = double(rnn.dependent_steps());
    work.step_bytes = work.steps > 0 ? double(rnn.states()) * width : 0;
    work.step_weights = work.steps > 0 ? double(rnn.weights()) * width : 0;
    return work;
  }

  bool has_reference() const override { return true; }
  ReferenceSource reference_source(const Problem& problem) const override {
    return rnn_reference_source(rnn_problem(problem));
  }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_rnn_output(rnn_problem(problem), conditions);
  }
  bool permits_condition(const Problem& problem, std::string_view name,
                         const Value& value) const override {
    return rnn_problem(problem).precision.precision == Precision::kInt8 &&
           (name == "fill.u" || name == "fill.wx") && to_text(value) == "s7";
  }
  double verification_bytes(const Problem& problem) const override {
    return rnn_reference_bytes(rnn_problem(problem));
  }

 private:
  std::string name_ = "rnn";
  std::string help_ =
      "one recurrent layer over a sequence; only the recurrent product counts as work";
  std::string example_ = "rnn cell=lstm hidden=512 batch=16 timesteps=25 phase=fwd";
  std::vector<Parameter> parameters_ = {
      {"cell",
       ParameterKind::kChoice,
       "vanilla uses ReLU; gru applies the reset gate after the product",
       "",
       {"vanilla", "lstm", "gru", "gru_reset_before"}},
      Parameter{"hidden", ParameterKind::kInteger, "units", "", {}, 1, 1e7}.with_synonyms(
          {"hidden_size"}),
      Parameter{"batch", ParameterKind::kInteger, "sequences per call", "", {}, 1, 1e7}
          .with_synonyms({"batch_size"}),
      Parameter{"timesteps", ParameterKind::kInteger, "steps of each sequence", "", {}, 1, 1e7}
          .with_synonyms({"seq", "seq_len", "steps"}),
      {"phase",
       ParameterKind::kChoice,
       "forward, a gradient, or both gradients in one call",
       "fwd",
       {"fwd", "bwd_data", "bwd_weights", "bwd"}},
      {"mode",
       ParameterKind::kChoice,
       "training stores the values that the gradients need",
       "training",
       {"training", "inference"}},
      precision_parameter("float"),
  };
};

}  // namespace

const Operation& rnn_operation() {
  static const RnnOperation operation;
  return operation;
}

}  // namespace deepbench
