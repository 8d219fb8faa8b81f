// Exchanges of words among the threads of a device: their scopes and refusals without a device; on
// a device, every word in every scope, call after call.
#include "kernels/exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/ops/memory/memory.hpp"
#include "gpu.hpp"
#include "implementation.hpp"
#include "kernel_run.hpp"
#include "kernels/compile.hpp"
#include "kernels/sources.hpp"
#include "libraries.hpp"
#include "ops/memory/exchange_plan.hpp"
#include "routes.hpp"

namespace deepbench::cuda_test {
namespace {

constexpr int64_t kRoom = 232448 + 262144;  // of one multiprocessor, for weights

cuda::DeviceFacts hopper_facts() {
  cuda::DeviceFacts facts;
  facts.major = 9;
  facts.multiprocessors = 132;
  facts.shared_bytes = 232448;
  facts.register_bytes = 262144;
  facts.cooperative_launch = true;
  return facts;
}

Memory exchange_of(int64_t bytes, int64_t weights) {
  Memory memory;
  memory.kind = MemoryKind::kExchange;
  memory.bytes = bytes;
  memory.weights = weights;
  return memory;
}

std::string refusal_of(const Memory& memory, const cuda::DeviceFacts& device) {
  try {
    cuda::exchange_plan(memory, device);
    return "";
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
    return error.what();
  }
}

TEST_CASE(
    "exchange: the scope is the smallest whose registers and shared memory hold the weights") {
  const auto scope = [](int64_t weights, const cuda::DeviceFacts& device = hopper_facts()) {
    return cuda::exchange_plan(exchange_of(2048, weights), device).scope;
  };
  CHECK(scope(0) == "block");
  CHECK(scope(kRoom) == "block");
  CHECK(scope(kRoom + 1) == "cluster");
  CHECK(scope(EXCHANGE_CLUSTER_BLOCKS * kRoom) == "cluster");
  CHECK(scope(EXCHANGE_CLUSTER_BLOCKS * kRoom + 1) == "grid");
  cuda::DeviceFacts ampere = hopper_facts();
  ampere.major = 8;
  CHECK(scope(kRoom + 1, ampere) == "grid");
}

TEST_CASE("exchange: weights that fit nowhere are read in each step") {
  const auto plan = [](int64_t weights) {
    return cuda::exchange_plan(exchange_of(2048, weights), hopper_facts());
  };
  CHECK(plan(132 * kRoom).weight_bytes == 0);
  CHECK(plan(132 * kRoom + 16).weight_bytes == uint64_t(132 * kRoom + 16));
  CHECK(plan(132 * kRoom + 16).placement.find("each step reads them") != std::string::npos);
  CHECK(plan(132 * kRoom + 16).launch.block_x == EXCHANGE_MAX_THREADS);
}

TEST_CASE(
    "exchange: every block publishes a word, and only blocks of a grid wait in global memory") {
  const int64_t weights = EXCHANGE_CLUSTER_BLOCKS * kRoom + 1;
  for (const int64_t words : {1, 5, 131, 133, 5632, 16384}) {
    const cuda::ExchangePlan grid =
        cuda::exchange_plan(exchange_of(4 * words, weights), hopper_facts());
    CHECK(grid.launch.grid_x == uint32_t(std::min<int64_t>(words, 132)));
    CHECK(grid.launch.cooperative);
    CHECK(grid.mailbox_bytes >= uint64_t(2 * 8 * words + 4));
    CHECK(grid.launch.shared_bytes <= hopper_facts().shared_bytes);
    CHECK(grid.launch.block_x % 32 == 0);
  }
  const cuda::ExchangePlan block = cuda::exchange_plan(exchange_of(400, 0), hopper_facts());
  CHECK((block.launch.grid_x == 1 && block.launch.block_x == 128));
  CHECK((!block.launch.cooperative && block.mailbox_bytes == 0));
}

TEST_CASE("exchange: refusals name the reason") {
  cuda::DeviceFacts device = hopper_facts();
  CHECK(refusal_of(exchange_of(65536, 0), device).empty());
  CHECK(refusal_of(exchange_of(65540, 0), device) ==
        "kind=exchange hands all words to every block, which has room for 65536 bytes");
  device.shared_bytes = 99 << 10;
  CHECK(refusal_of(exchange_of(65536, 0), device).find("50688 bytes") != std::string::npos);
  device.cooperative_launch = false;
  CHECK(refusal_of(exchange_of(400, 0), device).empty());  // one block waits for no other
  CHECK(refusal_of(exchange_of(400, int64_t{1} << 30), device).find("launches blocks together") !=
        std::string::npos);
}

TEST_CASE("exchange: a cold cache is refused, also without a device") {
  const NamedValues problem("kind=exchange bytes=400"), options("cache=cold");
  try {
    cuda::runtime_memory().plan(plugin::Problem({"memory", problem.get()}),
                                plugin::Options(options.get()));
    FAIL("an exchange with a cold cache should be refused");
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
    CHECK(std::string(error.what()).find("use cache=hot") != std::string::npos);
  }
}

TEST_CASE("exchange: the kernels compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("exchange");
  for (const int architecture : {80, 90})
    CHECK_FALSE(cuda::compile(source, "", architecture).code.empty());
}

std::string exchange_text(int64_t words, int64_t weights) {
  return "kind=exchange bytes=" + std::to_string(4 * words) + " weights=" + std::to_string(weights);
}

TEST_CASE("gpu: exchange: every word arrives in every scope, call after call") {
  REQUIRE_GPU();
  const int64_t large = int64_t{1} << 24, larger_than_the_chip = int64_t{1} << 27;
  for (const int64_t weights : {int64_t{0}, int64_t{1} << 20, large, larger_than_the_chip})
    for (const int64_t words : {1, 2, 3, 131, 256, 1023, 5632, 12672}) {
      CAPTURE(weights);
      CAPTURE(words);
      KernelRun run("memory", exchange_text(words, weights), "");
      INFO(run.error());
      REQUIRE(run.status() == DEEPBENCH_OK);
      const Memory memory = exchange_of(4 * words, weights);
      for (const int32_t launch : {DEEPBENCH_LAUNCH_BEST, DEEPBENCH_LAUNCH_STREAM}) {
        run.poison();
        CHECK(run.scan().untouched == uint64_t(words));
        run.call(20, launch);
        CHECK(run.scan().untouched == 0);
        const std::vector<double> found = run.read(uint64_t(words));
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < uint64_t(words); ++i)
          wrong += found[i] != double(memory_word(kSeed, memory.source_of(i)));
        CHECK(wrong == 0);
      }
    }
}

TEST_CASE("gpu: exchange: a cluster is slower than a block, and the grid slower than a cluster") {
  REQUIRE_GPU();
  if (cuda::device_facts(0).major < 9) return;
  double before = 0;
  for (const int64_t weights : {int64_t{0}, int64_t{1} << 20, int64_t{1} << 24}) {
    KernelRun run("memory", exchange_text(1024, weights), "");
    REQUIRE(run.status() == DEEPBENCH_OK);
    run.call(50);
    const double step_ns = run.call(200).elapsed_ns / 200 / Memory::kExchangeSteps;
    MESSAGE(run.describe().text("algorithm") << ": " << step_ns << " ns per step");
    CHECK(step_ns > before);
    before = step_ns;
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
