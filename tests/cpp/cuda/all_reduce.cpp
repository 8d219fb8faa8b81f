// all_reduce on devices: operands, and NCCL's communicator with one rank.
// tests/gpu/test_all_reduce.py covers several devices.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "deepbench/plugin.hpp"
#include "gpu.hpp"
#include "graph.hpp"
#include "kernel_run.hpp"
#include "ops/collective/communicator.hpp"
#include "ops/collective/nccl_facts.hpp"
#include "ops/collective/operands.hpp"
#include "prepared_kernel.hpp"
#include "status_check.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::CollectiveOperands;
using cuda::Communicator;
using plugin::Participants;

TEST_CASE("NCCL's settings appear on the row in order") {
  const char* const set[] = {"PATH=/bin", "NCCL_NVLS_ENABLE=0", "NCCL_DEBUG=INFO", "NCCL_ALGO=Ring",
                             nullptr};
  CHECK(cuda::nccl_settings(set) == "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0");
  const char* const nothing[] = {nullptr};
  CHECK(cuda::nccl_settings(nothing) == "");
}

// Two ranks in this process: both receive what either sends in an exchange.
class TwoRanks {
 public:
  deepbench_group group(int rank) {
    return {sizeof(deepbench_group),
            rank,
            2,
            this,
            rank == 0 ? first : second,
            rank,
            2,
            "127.0.0.1",
            nullptr};
  }

 private:
  static deepbench_status first(void* context, const void* mine, size_t bytes, void* all) {
    return static_cast<TwoRanks*>(context)->exchange(0, mine, bytes, all);
  }
  static deepbench_status second(void* context, const void* mine, size_t bytes, void* all) {
    return static_cast<TwoRanks*>(context)->exchange(1, mine, bytes, all);
  }
  deepbench_status exchange(size_t rank, const void* mine, size_t bytes, void* all) {
    const auto* const begin = static_cast<const char*>(mine);
    sent_[rank].assign(begin, begin + bytes);
    arrived_[rank] = true;
    while (!arrived_[1 - rank]) std::this_thread::yield();
    std::memcpy(all, sent_[0].data(), bytes);
    std::memcpy(static_cast<char*>(all) + bytes, sent_[1].data(), bytes);
    return DEEPBENCH_OK;
  }

  std::vector<char> sent_[2];
  std::atomic<bool> arrived_[2] = {{false}, {false}};
};

// Returns, for each of the two ranks, its id or the reason why it has none.
std::vector<std::string> agree_on_ids(bool first_has_one, bool second_has_one) {
  TwoRanks both;
  const bool has_one[2] = {first_has_one, second_has_one};
  std::vector<std::string> ids(2);
  const auto rank = [&](int which) {
    const deepbench_group group = both.group(which);
    try {
      const auto id = cuda::agree_on_nccl_id(plugin::Ranks(group), has_one[which]);
      ids[size_t(which)] = id ? std::string(id->internal, sizeof id->internal) : "none";
    } catch (const plugin::Error& error) {
      ids[size_t(which)] = error.what();
    }
  };
  std::thread second([&] { rank(1); });
  rank(0);
  second.join();
  return ids;
}

TEST_CASE("ranks agree on NCCL's id once") {
  if (const auto& nccl = cuda::report<nvidia::Nccl>(); !nccl.usable()) {
    MESSAGE("nothing tested: " << nccl.reason);
    return;
  }
  const auto ids = agree_on_ids(false, false);
  CHECK(ids[0].size() == sizeof(nvidia::ncclUniqueId));
  CHECK(ids[0] == ids[1]);
  CHECK(ids[0] != std::string(sizeof(nvidia::ncclUniqueId), '\0'));
  CHECK(agree_on_ids(false, false)[0] != ids[0]);
  CHECK(agree_on_ids(true, true) == std::vector<std::string>{"none", "none"});
  for (const std::string& reason : agree_on_ids(true, false))
    CHECK(reason == "some ranks have lost their NCCL communicator");
}

TEST_CASE("NCCL's statuses keep the library's text, and a remote error means device_lost") {
  if (!cuda::report<nvidia::Nccl>().usable()) return;
  const auto thrown = [](nvidia::ncclResult_t status) {
    try {
      CUDA_CHECK_STATUS(ncclAllReduce, status);
    } catch (const plugin::Error& error) {
      return std::to_string(int(error.status())) + " " + error.what();
    }
    return std::string();
  };
  CHECK(thrown(nvidia::ncclSuccess) == "");
  const std::string usage = thrown(nvidia::ncclInvalidUsage);
  CHECK(usage.find("5 nccl: invalid usage") == 0);
  CHECK(usage.find("from ncclAllReduce at all_reduce.cpp:") != std::string::npos);
  CHECK(thrown(nvidia::ncclRemoteError).find("4 nccl: remote process") == 0);
}

TEST_CASE("gpu: the refusal of a single process names --devices") {
  REQUIRE_GPU();
  const ProblemRequest request("all_reduce", "elements=5 precision=float in_place=no", "");
  CHECK(request.plan_status() == DEEPBENCH_UNSUPPORTED);
  CHECK(std::string(table().last_error()).find("--devices 2") != std::string::npos);
}

Collective sum_of(const char* precision, int64_t elements, bool in_place) {
  return {CollectiveKind::kAllReduce, elements, precision_info(precision), in_place};
}

std::vector<double> values_of(const CollectiveOperands& operands, uint64_t copy, uint64_t first,
                              uint64_t count) {
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < count; ++i) indices.push_back(first + i);
  std::vector<double> values(count);
  operands.read_output(copy, indices.data(), count, values.data());
  return values;
}

TEST_CASE("gpu: in-place operands are filled, restored and scanned") {
  REQUIRE_GPU();
  constexpr uint64_t kElements = 70001;
  for (const char* precision : {"float", "half", "bfloat16"}) {
    const Collective sum = sum_of(precision, kElements, true);
    const plugin::CopyPlan plan = {plugin::Regime::kRotation, 2, 0};
    CollectiveOperands operands(sum, {{0}, 1, 3}, plan, cuda::Inputs::kUniform, kSeed);
    for (const uint64_t copy : {0, 1}) {
      const auto values = values_of(operands, copy, 0, kElements);
      for (uint64_t i = 0; i < kElements; ++i)
        REQUIRE(values[i] == double(deepbench_summand(sum.precision.c, kSeed, 1, 3, i)));
    }
    CHECK(operands.scan_output(1).untouched == kElements);
    const auto& rank_operands = operands.rank(0);
    CHECK(rank_operands.input(0) == rank_operands.result(0));
    CUDA_CHECK(cuda::cudart().cudaMemsetAsync(rank_operands.result(1), 0, 8,
                                              rank_operands.memory().stream().get()));
    CHECK(operands.scan_output(1).untouched < kElements);
    CHECK(operands.scan_output(1).count == kElements);
    operands.restore();
    CHECK(operands.scan_output(1).untouched == kElements);
    Emitted emitted;
    plugin::Sink sink(emitted.sink());
    operands.describe(sink);
    CHECK(emitted.number("ranks") == 3);
    CHECK(emitted.number("restore_every") == sums_before_overflow(sum.precision.c, 3));
  }
}

TEST_CASE("gpu: outputs of two ranks in one process are indexed consecutively") {
  REQUIRE_GPU();
  constexpr uint64_t kElements = 4002, kRows = 6;
  const Collective sum = sum_of("float", kElements, false);
  CollectiveOperands operands(sum, {{0, 0}, 0, 2}, {}, cuda::Inputs::kUniform, kSeed);
  CHECK(operands.scan_output(0).untouched == 2 * kElements);
  for (const size_t rank : {0u, 1u}) {
    const auto& rank_operands = operands.rank(rank);
    CUDA_CHECK(cuda::cudart().cudaMemcpyAsync(rank_operands.result(0), rank_operands.input(0),
                                              4 * kElements, nvidia::cudaMemcpyDeviceToDevice,
                                              rank_operands.memory().stream().get()));
  }
  const auto values = values_of(operands, 0, 0, 2 * kElements);
  std::vector<double> expected(kRows), sums(kRows);
  for (uint64_t i = 0; i < 2 * kElements; ++i) {
    REQUIRE(values[i] == double(deepbench_summand(DEEPBENCH_F32, kSeed, uint32_t(i / kElements), 2,
                                                  i % kElements)));
    expected[i % kRows] += values[i] * deepbench_weight(3, i / kRows);
  }
  operands.project_output(0, kRows, 3, sums.data());
  for (uint64_t row = 0; row < kRows; ++row) CHECK(sums[row] == doctest::Approx(expected[row]));
  uint64_t outside = 2 * kElements;
  double value = 0;
  CHECK_THROWS_AS(operands.read_output(0, &outside, 1, &value), plugin::Error);
}

TEST_CASE("gpu: NCCL sums over one rank on the stream and in a graph") {
  REQUIRE_GPU();
  const Collective sum = sum_of("half", 5000, false);
  CollectiveOperands operands(sum, {{0}, 0, 1}, {}, cuda::Inputs::kUniform, kSeed);
  const auto& rank_operands = operands.rank(0);
  const Communicator::List& all =
      Communicator::of(plugin::Ranks(), rank_operands.memory().stream());
  const Communicator* const communicator = all.front().get();
  CHECK(communicator ==
        Communicator::of(plugin::Ranks(), rank_operands.memory().stream()).front().get());
  const auto call = [&] {
    communicator->all_reduce(DEEPBENCH_F16, rank_operands.input(0), rank_operands.result(0),
                             operands.result_elements());
  };
  call();
  cuda::poll_until_done(rank_operands.memory().stream(), [&] { Communicator::check_errors(all); });
  CHECK(operands.scan_output(0).untouched == 0);
  operands.poison_outputs();
  const cuda::Graph graph(rank_operands.memory().stream().get(), call);
  cuda::poll_until_done(rank_operands.memory().stream(), [&] { Communicator::check_errors(all); });
  CHECK(operands.scan_output(0).untouched == operands.result_elements());
  graph.launch(rank_operands.memory().stream().get());
  cuda::poll_until_done(rank_operands.memory().stream(), [&] { Communicator::check_errors(all); });
  CHECK(values_of(operands, 0, 7, 1)[0] ==
        double(deepbench_summand(DEEPBENCH_F16, kSeed, 0, 1, 7)));
}

// Makes this process a rank of a group that has lost a rank.
class ScopedLostRank {
 public:
  ScopedLostRank() { plugin::join_ranks(group_); }
  ~ScopedLostRank() { plugin::internal::ranks_of_joined_group() = plugin::Ranks(); }

 private:
  static int32_t yes(void*) { return 1; }
  const deepbench_group group_ = {
      sizeof(deepbench_group), 0, 1, nullptr, nullptr, 0, 1, "127.0.0.1", yes};
};

TEST_CASE("gpu: NCCL's communicators of one process are aborted together and created again") {
  REQUIRE_GPU();
  std::vector<int> devices;
  for (int device = 0; device < cuda::device_count(); ++device) devices.push_back(device);
  const auto check_sum = [&] {
    const Collective sum = sum_of("float", 1000, false);
    const Communicator::List& all = Communicator::of(devices);
    CollectiveOperands operands(sum, {devices, 0, int(devices.size())}, {}, cuda::Inputs::kUniform,
                                kSeed);
    CUDA_CHECK(cuda::nccl().ncclGroupStart());
    for (size_t rank = 0; rank < all.size(); ++rank)
      all[rank]->all_reduce(DEEPBENCH_F32, operands.rank(rank).input(0),
                            operands.rank(rank).result(0), operands.result_elements());
    CUDA_CHECK(cuda::nccl().ncclGroupEnd());
    for (size_t rank = 0; rank < all.size(); ++rank)
      cuda::poll_until_done(operands.rank(rank).memory().stream(),
                            [&] { Communicator::check_errors(all); });
    CHECK(operands.scan_output(0).untouched == 0);
  };
  check_sum();
  const Communicator::List& all = Communicator::of(devices);
  {
    const ScopedLostRank lost;
    try {
      Communicator::check_errors(all);
      FAIL("a lost rank was not seen");
    } catch (const plugin::Error& error) {
      CHECK(error.status() == DEEPBENCH_DEVICE_LOST);
    }
  }
  check_sum();
}

std::atomic<int> aborts{0}, ended_aborts{0};
std::atomic<bool> graphs_are_alive{false};

// Waits for graphs, as ncclCommAbort does; the caller destroys them only after the abort is
// reported.
nvidia::ncclResult_t abort_after_graphs(nvidia::ncclComm_t) {
  ++aborts;
  while (graphs_are_alive) std::this_thread::yield();
  ++ended_aborts;
  return nvidia::ncclSuccess;
}

TEST_CASE("gpu: NCCL's communicators are aborted while their graphs exist") {
  REQUIRE_GPU();
  const Communicator::List& all = Communicator::of(std::vector<int>{0});
  auto& abort = const_cast<nvidia::Nccl&>(cuda::nccl()).ncclCommAbort;
  const auto nccl_abort = std::exchange(abort, &abort_after_graphs);
  graphs_are_alive = true;
  {
    const ScopedLostRank lost;
    CHECK_THROWS_WITH_AS(Communicator::check_errors(all),
                         "nccl: a rank exited or failed, so the call was aborted", plugin::Error);
    CHECK_THROWS_WITH_AS(Communicator::check_errors(all), "nccl: the communicator was aborted",
                         plugin::Error);
    const cuda::PendingSumsGuard guard(all);  // has nothing to wait for
  }
  CHECK(ended_aborts == 0);
  graphs_are_alive = false;
  for (int ms = 0; ms < 10000 && ended_aborts == 0; ++ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(aborts == 1);  // one communicator is aborted once, regardless of the number of checks
  CHECK(ended_aborts == 1);
  abort = nccl_abort;
  CHECK(Communicator::of(std::vector<int>{0}).size() == 1);
}

TEST_CASE("gpu: a lack of memory is detected before the ranks meet in a call") {
  REQUIRE_GPU();
  const plugin::CopyPlan too_much = {plugin::Regime::kFlush, 1, uint64_t{1} << 60};
  bool has_met = false;
  const auto prepare = [&] {
    const cuda::PreparedKernel kernel(cuda::Stream::of(0), too_much, nullptr,
                                      [&]() -> std::unique_ptr<cuda::LibraryCall> {
                                        has_met = true;
                                        return nullptr;
                                      });
  };
  CHECK_THROWS_AS(prepare(), plugin::Error);
  CHECK_FALSE(has_met);
}

}  // namespace
}  // namespace deepbench::cuda_test
