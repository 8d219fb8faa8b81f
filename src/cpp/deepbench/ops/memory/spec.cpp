// The specification of memory: parameters, validity, bytes moved.
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/memory/memory.hpp"
#include "deepbench/ops/memory/reference.hpp"

namespace deepbench {
namespace {

class MemoryOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }

  void validate(const Problem& problem) const override {
    if (problem.integer("bytes") % 4)
      throw InvalidProblem("bytes=" + std::to_string(problem.integer("bytes")) +
                           ": must be a multiple of 4");
  }

  Work work(const Problem& problem) const override {
    return {0, memory_problem(problem).traffic()};
  }

  bool is_limited_by_device(const Problem& problem) const override {
    const MemoryKind kind = memory_problem(problem).kind;
    return kind != MemoryKind::kHostToDevice && kind != MemoryKind::kDeviceToHost;
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_memory_output(memory_problem(problem), conditions);
  }

 private:
  std::string name_ = "memory";
  std::string help_ =
      "bytes read, written or copied within a device, or copied between host and device";
  std::string example_ = "memory kind=copy bytes=268435456";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "kind of transfer",
       "copy",
       {"read", "write", "copy", "h2d", "d2h"}},
      {"bytes", ParameterKind::kInteger, "size of one buffer, a multiple of 4", "", {}, 4, 1e15},
  };
};

}  // namespace

const Operation& memory_operation() {
  static const MemoryOperation operation;
  return operation;
}

}  // namespace deepbench
