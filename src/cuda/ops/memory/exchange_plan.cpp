// Chooses the scope of an exchange and the shape of its launch.
#include "ops/memory/exchange_plan.hpp"

#include <algorithm>

#include "deepbench/plugin.hpp"
#include "kernels/exchange.h"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr int kOldestWithClusters = 9;
// The largest buffer. Every block receives all words; with more of them, the time of a step would
// be that of transferring them to every multiprocessor, which a recurrence does not need.
constexpr uint64_t kMostBytes = 64 << 10;

uint64_t ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

// Few threads take less time to wait for one another than many.
uint32_t threads_for(uint64_t accesses) {
  return uint32_t(
      std::clamp<uint64_t>(ceil_div(accesses, kWarp) * kWarp, kWarp, EXCHANGE_MAX_THREADS));
}

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

void require_small_states(const Memory& memory, const DeviceFacts& device) {
  const uint64_t most = std::min(kMostBytes, device.shared_bytes / 2);
  if (uint64_t(memory.bytes) > most)
    plugin::unsupported("kind=exchange hands all words to every block, which has room for " +
                        bytes_text(most));
}

void plan_grid(const Memory& memory, const DeviceFacts& device, uint64_t room, ExchangePlan& plan) {
  if (!device.cooperative_launch)
    plugin::unsupported(
        "kind=exchange over all multiprocessors needs a device that launches blocks together");
  const auto words = uint64_t(memory.words()), weights = uint64_t(memory.weights);
  const auto multiprocessors = uint64_t(device.multiprocessors);
  const bool holds_weights = weights <= multiprocessors * room;
  plan.scope = "grid", plan.kernel = "exchange_over_grid";
  plan.weight_bytes = holds_weights ? 0 : weights / sizeof(uint32_t[4]) * sizeof(uint32_t[4]);
  plan.mailbox_bytes = 2 * exchange_pitch(uint32_t(words)) * sizeof(uint64_t) + sizeof(uint32_t);
  plan.placement =
      holds_weights
          ? "the registers and shared memory of all multiprocessors would hold the weights"
          : "the weights exceed the registers and shared memory of all multiprocessors, and each "
            "step reads them";
  plan.launch.grid_x = uint32_t(std::min(multiprocessors, words));  // each publishes a word
  plan.launch.block_x = holds_weights ? threads_for(ceil_div(words, 2)) : EXCHANGE_MAX_THREADS;
  plan.launch.cooperative = true;
}

}  // namespace

ExchangePlan exchange_plan(const Memory& memory, const DeviceFacts& device) {
  require_small_states(memory, device);
  const auto words = uint64_t(memory.words()), weights = uint64_t(memory.weights);
  const uint64_t room = device.register_bytes + device.shared_bytes;
  ExchangePlan plan;
  plan.launch.shared_bytes = exchange_shared_bytes(uint32_t(words));
  if (weights <= room) {
    plan.scope = "block", plan.kernel = "exchange_in_block";
    plan.placement = "the registers and shared memory of one multiprocessor would hold the weights";
    plan.launch.block_x = threads_for(words);
  } else if (device.major >= kOldestWithClusters && weights <= EXCHANGE_CLUSTER_BLOCKS * room) {
    plan.scope = "cluster", plan.kernel = "exchange_in_cluster";
    plan.placement = "the registers and shared memory of a cluster of " +
                     std::to_string(EXCHANGE_CLUSTER_BLOCKS) +
                     " multiprocessors would hold the weights";
    plan.launch.grid_x = EXCHANGE_CLUSTER_BLOCKS;
    plan.launch.block_x = threads_for(ceil_div(words, EXCHANGE_CLUSTER_BLOCKS));
  } else {
    plan_grid(memory, device, room, plan);
  }
  return plan;
}

}  // namespace deepbench::cuda
