// Memory problems on a device: results for every kind, method, size and regime.
#include "deepbench/ops/memory/memory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "gpu.hpp"
#include "implementation.hpp"
#include "routes.hpp"
#include "stream.hpp"

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 9;

// The facts that a plan or a kernel describes, as text.
template <class Described>
std::map<std::string, std::string> description_of(const Described& described) {
  std::map<std::string, std::string> facts;
  plugin::Sink sink({&facts, [](void* context, const deepbench_value* value) {
                       auto* into = static_cast<std::map<std::string, std::string>*>(context);
                       (*into)[value->name] = value->kind == DEEPBENCH_TEXT
                                                  ? value->text
                                                  : std::to_string(value->integer);
                     }});
  described.describe(sink);
  return facts;
}

// A memory problem with its options.
class MemoryCase {
 public:
  MemoryCase(const std::string& kind, uint64_t bytes) : kind_(kind), bytes_(int64_t(bytes)) {
    options.seed = kSeed;
    cuda::Stream::of(0);
  }

  plugin::Options options;

  uint64_t words() const { return uint64_t(bytes_) / 4; }
  Memory memory() const { return memory_problem(problem()); }
  plugin::Problem problem() const {
    values_[0] = {"kind", DEEPBENCH_TEXT, 0, 0, kind_.c_str()};
    values_[1] = {"bytes", DEEPBENCH_INTEGER, bytes_, 0, nullptr};
    return plugin::Problem({"memory", {values_, 2}});
  }
  // "": the library's first choice.
  std::unique_ptr<plugin::Plan> plan(const std::string& candidate = "") const {
    auto first = cuda::runtime_memory().plan(problem(), options);
    return candidate.empty() ? std::move(first) : first->with_candidate(candidate);
  }
  std::vector<std::string> candidates() const { return plan()->candidates(0); }
  std::unique_ptr<plugin::Kernel> prepare(const std::string& candidate = "") const {
    return plan(candidate)->prepare();
  }

 private:
  std::string kind_;
  int64_t bytes_;
  mutable deepbench_value values_[2] = {};
};

deepbench_batch run_batch(plugin::Kernel& kernel, uint64_t count,
                          int32_t launch = DEEPBENCH_LAUNCH_BEST) {
  const deepbench_request request = {sizeof request, count, launch, 0};
  deepbench_batch batch = {};
  batch.struct_size = sizeof batch;
  kernel.time_batch(request, batch);
  CHECK(batch.count == count);
  CHECK(batch.elapsed_ns > 0);
  return batch;
}

deepbench_scan scan_output(plugin::Kernel& kernel) {
  deepbench_scan found = {};
  found.struct_size = sizeof found;
  kernel.scan_output(0, found);
  return found;
}

std::vector<double> read_first_elements(plugin::Kernel& kernel, uint64_t count) {
  std::vector<uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  std::vector<double> values(count);
  kernel.read_output(0, indices.data(), count, values.data());
  return values;
}

uint32_t xor_of(uint64_t words) {
  uint32_t total = 0;
  for (uint64_t i = 0; i < words; ++i) total ^= memory_word(kSeed, i);
  return total;
}

// Checks poisoned outputs, then the outputs of calls, through scan, read and project.
void check_outputs_after_calls(plugin::Kernel& kernel, const MemoryCase& problem) {
  const bool writes = problem.memory().kind == MemoryKind::kWrite;
  CHECK(scan_output(kernel).count == problem.words());
  CHECK(scan_output(kernel).untouched == problem.words());
  run_batch(kernel, 2);
  CHECK(scan_output(kernel).untouched == 0);
  const std::vector<double> moved = read_first_elements(kernel, problem.words());
  uint64_t wrong = 0;
  double sum = 0;
  for (uint64_t i = 0; i < problem.words(); ++i) {
    const uint32_t expected = writes ? write_pattern(kSeed) : memory_word(kSeed, i);
    wrong += moved[i] != double(expected);
    sum += double(expected) * deepbench_weight(3, i);
  }
  CHECK(wrong == 0);
  double projected = 0;
  kernel.project_output(0, 1, 3, &projected);
  CHECK(std::abs(projected - sum) <= 1e-15 * 4.3e9 * double(problem.words()));
  kernel.poison_outputs();
  CHECK(scan_output(kernel).untouched == problem.words());
}

TEST_CASE("gpu: write, copy, h2d and d2h are correct with every method and size") {
  REQUIRE_GPU();
  for (const std::string kind : {"write", "copy", "h2d", "d2h"})
    for (const uint64_t bytes : {4u, 12u, 16u, 20u, 4096u, 100004u, 2097152u, 50000012u}) {
      MemoryCase problem(kind, bytes);
      for (const std::string& candidate : problem.candidates()) {
        INFO(kind, " ", bytes, " ", candidate);
        const auto kernel = problem.prepare(candidate);
        CHECK(description_of(*problem.plan(candidate))["algorithm"] == candidate);
        CHECK(description_of(*problem.plan(candidate))["library"] == "runtime");
        check_outputs_after_calls(*kernel, problem);
      }
    }
}

TEST_CASE("gpu: read is correct with every size") {
  REQUIRE_GPU();
  for (const uint64_t bytes : {4u, 12u, 16u, 20u, 4096u, 100004u, 31457280u, 50000012u}) {
    INFO(bytes, " bytes");
    const MemoryCase problem("read", bytes);
    const auto kernel = problem.prepare();
    CHECK(scan_output(*kernel).count == 1);
    CHECK(scan_output(*kernel).untouched == 1);
    run_batch(*kernel, 3);
    CHECK(scan_output(*kernel).untouched == 0);
    CHECK(read_first_elements(*kernel, 1)[0] == double(xor_of(problem.words())));
    kernel->poison_outputs();
    CHECK(scan_output(*kernel).untouched == 1);
    CHECK_THROWS_AS(read_first_elements(*kernel, 2), plugin::Error);
  }
}

TEST_CASE("gpu: constant inputs are copied") {
  REQUIRE_GPU();
  for (const std::string inputs : {"ones", "zeros"}) {
    MemoryCase problem("copy", 4000);
    problem.options.inputs = inputs;
    const auto kernel = problem.prepare();
    run_batch(*kernel, 1);
    CHECK(scan_output(*kernel).untouched == 0);
    CHECK(read_first_elements(*kernel, 1000) ==
          std::vector<double>(1000, inputs == "ones" ? 1 : 0));
  }
}

TEST_CASE("gpu: cold calls rotate through copies or flush the cache") {
  REQUIRE_GPU();
  const uint64_t cache = cuda::device_facts(0).l2_bytes, bytes = cache / 10 / 4 * 4;
  for (const std::string kind : {"read", "write", "copy", "h2d", "d2h"}) {
    CAPTURE(kind);
    MemoryCase problem(kind, bytes);
    problem.options.cold = true;
    const auto kernel = problem.prepare();
    auto facts = description_of(*kernel);
    REQUIRE(facts["cold"] == "rotation");
    const auto copies = uint64_t(std::stoll(facts["copies"]));
    CHECK(copies * bytes * (kind == "copy" ? 2 : 1) >= 3 * cache);
    for (uint64_t i = 0; i < 2; ++i) {
      CHECK(run_batch(*kernel, 1).copies_touched == 1);
      CHECK(scan_output(*kernel).untouched == 0);
    }
    CHECK(run_batch(*kernel, 2 * copies).copies_touched == copies);
  }
  MemoryCase small("copy", 4096);
  small.options.cold = true;
  small.options.copies = 2;
  const auto kernel = small.prepare();
  CHECK(description_of(*kernel)["cold"] == "flush");
  run_batch(*kernel, 3);
  CHECK(scan_output(*kernel).untouched == 0);
}

TEST_CASE("gpu: memory_needed covers operands and copies") {
  REQUIRE_GPU();
  const auto needed = [](const std::string& kind, uint64_t bytes, bool cold) {
    MemoryCase problem(kind, bytes);
    problem.options.cold = cold;
    return std::stoull(description_of(*problem.plan())["memory_bytes"]);
  };
  CHECK(needed("read", 1 << 20, false) == 1 << 20);
  CHECK(needed("copy", 1 << 20, false) == 2 << 20);
  CHECK(needed("d2h", 1 << 20, false) == 2 << 20);
  CHECK(needed("copy", 1 << 24, true) >= 3 * cuda::device_facts(0).l2_bytes);
}

TEST_CASE("gpu: unknown candidates and inputs are refused") {
  REQUIRE_GPU();
  MemoryCase problem("copy", 4096);
  try {
    problem.plan("pinned");
    FAIL("the candidate pinned should be refused for kind copy");
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_INVALID);
  }
  problem.options.inputs = "twos";
  CHECK_THROWS_AS(problem.prepare(), plugin::Error);
}

// Prints the rates that ceilings are made of, and asserts only that calls succeed.
TEST_CASE("gpu: rates are printed") {
  REQUIRE_GPU();
  const uint64_t resident = cuda::device_facts(0).l2_bytes / 2 / 64 * 64;
  for (const std::string kind : {"read", "write", "copy"})
    for (const uint64_t bytes : {resident, uint64_t{1} << 28, uint64_t{1} << 31}) {
      MemoryCase problem(kind, bytes);
      for (const std::string& candidate : problem.candidates()) {
        const auto kernel = problem.prepare(candidate);
        run_batch(*kernel, 20);
        const double rate = problem.memory().traffic() * 20 / run_batch(*kernel, 20).elapsed_ns;
        MESSAGE(kind << " of " << bytes << " bytes by " << candidate << ": " << rate << " GB/s");
      }
    }
  for (const std::string kind : {"h2d", "d2h"}) {
    MemoryCase problem(kind, uint64_t{1} << 28);
    for (const std::string& candidate : problem.candidates()) {
      const auto kernel = problem.prepare(candidate);
      run_batch(*kernel, 2);
      const double rate = problem.memory().traffic() * 5 / run_batch(*kernel, 5).elapsed_ns;
      MESSAGE(kind << " of 256 MiB, " << candidate << ": " << rate << " GB/s");
    }
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
