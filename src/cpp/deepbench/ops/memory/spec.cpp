// The specification of memory: parameters, validity, bytes moved.
#include <algorithm>
#include <set>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/memory/memory.hpp"
#include "deepbench/ops/memory/reference.hpp"

namespace deepbench {
namespace {

constexpr int64_t kPageBytes = 4096;
// Assumed for a device that does not report its last level.
constexpr int64_t kTypicalCacheBytes = 64 << 20;

// Transfers to the host and back exist only if the device has its own memory.
std::vector<const char*> sweep_kinds(const Attributes& device) {
  std::vector<const char*> kinds = {"read", "write", "copy"};
  if (!device.items().empty() && device.integer("shares_host_memory") == 0)
    kinds.insert(kinds.end(), {"h2d", "d2h"});
  return kinds;
}

// Half of each cache, and four times the last one: ascending, in whole pages.
std::vector<int64_t> sweep_sizes(const Attributes& device) {
  const int64_t last = device.integer("last_level_cache_bytes", kTypicalCacheBytes);
  std::set<int64_t> sizes;
  const auto add = [&](int64_t bytes) {
    sizes.insert(std::max(bytes / kPageBytes * kPageBytes, kPageBytes));
  };
  for (const char* const level : {"cache.l1_bytes", "cache.l2_bytes"})
    if (const int64_t bytes = device.integer(level); bytes > 0) add(bytes / 2);
  add(last / 2);
  add(4 * last);
  return {sizes.begin(), sizes.end()};
}

class MemoryOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"mem", "memory"}, {"memcpy", "memory"}, {"bandwidth", "memory"}, {"stream", "memory"}};
  }
  std::vector<std::string> default_problems(const Attributes& device) const override {
    std::vector<std::string> lines;
    for (const char* const kind : sweep_kinds(device))
      for (const int64_t bytes : sweep_sizes(device))
        lines.push_back("memory kind=" + std::string(kind) + " bytes=" + std::to_string(bytes));
    return lines;
  }

  std::string default_problems_help() const override {
    return "each kind of access at sizes for each level of the memory hierarchy";
  }

  void validate(const Problem& problem) const override {
    if (problem.integer("bytes") % 4)
      throw InvalidProblem("bytes=" + std::to_string(problem.integer("bytes")) +
                           ": must be a multiple of 4");
  }

  Work work(const Problem& problem) const override {
    const Memory memory = memory_problem(problem);
    Work work = {0, memory.traffic()};
    work.steps = double(memory.steps());
    work.step_bytes = work.steps > 0 ? double(memory.bytes) : 0;
    return work;
  }

  bool is_limited_by_device(const Problem& problem) const override {
    const MemoryKind kind = memory_problem(problem).kind;
    return kind != MemoryKind::kExchange && kind != MemoryKind::kHostToDevice &&
           kind != MemoryKind::kDeviceToHost;
  }

  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_memory_output(memory_problem(problem), conditions);
  }

 private:
  std::string name_ = "memory";
  std::string help_ =
      "bytes read, written, copied or exchanged within a device, or copied between host and device";
  std::string example_ = "memory kind=copy bytes=268435456";
  std::vector<Parameter> parameters_ = {
      {"kind",
       ParameterKind::kChoice,
       "kind of transfer; exchange makes 64 steps, each of which reads what all threads wrote in "
       "the one before",
       "copy",
       {"read", "write", "copy", "exchange", "h2d", "d2h"}},
      {"bytes", ParameterKind::kInteger, "size of one buffer, a multiple of 4", "", {}, 4, 1e15},
      {"weights",
       ParameterKind::kInteger,
       "bytes that each step of an exchange needs at hand; they decide which threads take part",
       "0",
       {},
       0,
       1e15,
       "kind",
       "exchange",
       true},
  };
};

}  // namespace

const Operation& memory_operation() {
  static const MemoryOperation operation;
  return operation;
}

}  // namespace deepbench
