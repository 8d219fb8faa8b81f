// Collectives through NCCL: every kind over all devices of this process, whether there is one or
// several, and in a graph. tests/gpu/test_collectives.py covers one process for each device.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device.hpp"
#include "gpu.hpp"
#include "graph.hpp"
#include "kernel_run.hpp"
#include "ops/collective/communicator.hpp"
#include "ops/collective/operands.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::CollectiveOperands;
using cuda::Communicator;

constexpr int64_t kElements = 840 * 7;  // a multiple of every number of ranks up to 8

Collective collective_of(CollectiveKind kind, const char* precision) {
  return {kind, kElements, precision_info(precision), false};
}

double expected_result(const Collective& of, int rank, int ranks, uint64_t index) {
  const SourceElement source = of.source(uint32_t(rank), uint32_t(ranks), index);
  const deepbench_type type = of.precision.c;
  if (!of.is_sum()) return deepbench_element(type, kSeed, source.rank, source.index);
  double sum = 0;
  for (int other = 0; other < ranks; ++other)
    sum += double(deepbench_summand(type, kSeed, uint32_t(other), uint32_t(ranks), source.index));
  return sum;
}

uint64_t wrong_results(const Collective& of, const CollectiveOperands& operands) {
  const int ranks = operands.participants().ranks;
  std::vector<uint64_t> indices(operands.outputs());
  for (uint64_t i = 0; i < indices.size(); ++i) indices[i] = i;
  std::vector<double> values(indices.size());
  operands.read_output(0, indices.data(), indices.size(), values.data());
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < values.size(); ++i)
    wrong += values[i] != expected_result(of, int(i / operands.result_elements()), ranks,
                                          i % operands.result_elements());
  return wrong;
}

void wait_for_all(const Communicator::List& all, const CollectiveOperands& operands) {
  for (size_t rank = 0; rank < all.size(); ++rank)
    cuda::poll_until_done(operands.rank(rank).memory().stream(),
                          [&] { Communicator::check_errors(all); });
  operands.rank(0).memory().make_current();
}

void enqueue_on_all(const Collective& of, const Communicator::List& all,
                    const CollectiveOperands& operands) {
  cuda::in_nccl_group([&] {
    for (size_t rank = 0; rank < all.size(); ++rank)
      all[rank]->enqueue(of, operands.rank(rank).input(0), operands.rank(rank).result(0));
  });
}

TEST_CASE("NCCL's function of every collective has a name") {
  if (!cuda::report<nvidia::Nccl>().usable()) return;
  for (const NamedCollective& one : kCollectives)
    CHECK(std::string(cuda::nccl_function(one.kind)).find("nccl") == 0);
}

TEST_CASE("gpu: NCCL computes every collective exactly on all devices of a process") {
  REQUIRE_GPU();
  std::vector<int> devices;
  for (int device = 0; device < std::min(8, cuda::device_count()); ++device)
    devices.push_back(device);
  const Communicator::List& all = Communicator::of(devices);
  for (const NamedCollective& one : kCollectives)
    for (const char* const precision : {"float", "half", "bfloat16"}) {
      CAPTURE(one.name);
      CAPTURE(precision);
      CAPTURE(devices.size());
      const Collective of = collective_of(one.kind, precision);
      CollectiveOperands operands(of, {devices, 0, int(devices.size())}, {}, cuda::Inputs::kUniform,
                                  kSeed);
      for (int call = 0; call < 2; ++call) {
        enqueue_on_all(of, all, operands);
        wait_for_all(all, operands);
        CHECK(operands.scan_output(0).untouched == 0);
        CHECK(wrong_results(of, operands) == 0);
        operands.poison_outputs();
      }
    }
}

TEST_CASE("gpu: every collective of NCCL can be captured in a graph") {
  REQUIRE_GPU();
  for (const NamedCollective& one : kCollectives) {
    CAPTURE(one.name);
    const Collective of = collective_of(one.kind, "half");
    CollectiveOperands operands(of, {{0}, 0, 1}, {}, cuda::Inputs::kUniform, kSeed);
    cuda::Stream& stream = operands.rank(0).memory().stream();
    const Communicator::List& all = Communicator::of(plugin::Ranks(), stream);
    const auto call = [&] {
      all.front()->enqueue(of, operands.rank(0).input(0), operands.rank(0).result(0));
    };
    call();  // connects
    wait_for_all(all, operands);
    operands.poison_outputs();
    const cuda::Graph graph(stream.get(), call);
    graph.launch(stream.get());
    wait_for_all(all, operands);
    CHECK(wrong_results(of, operands) == 0);
  }
}

TEST_CASE("gpu: the refusal of a single process names the collective") {
  REQUIRE_GPU();
  const ProblemRequest request("all_gather", "elements=8 precision=float", "");
  CHECK(request.plan_status() == DEEPBENCH_UNSUPPORTED);
  CHECK(std::string(table().last_error()).find("all_gather needs at least two ranks") == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
