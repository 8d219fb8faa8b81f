// Assigns rows of U to blocks and checks that they fit into a block.
#include "ops/rnn/persistent_plan.hpp"

#include <optional>

#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "ops/rnn/layer_checks.hpp"

namespace deepbench::cuda {
namespace {

// The oldest generation with tensor cores for both types and float accumulation.
constexpr int kOldestGeneration = 8;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

RecurrentCell recurrent_cell(const Rnn& rnn) {
  return rnn.cell == "lstm" ? CELL_LSTM : rnn.cell == "gru" ? CELL_GRU : CELL_VANILLA;
}

void require_supported_layer(const Rnn& rnn, const DeviceFacts& device) {
  if (rnn.cell == "gru_reset_before")
    plugin::unsupported(
        "persistent supports only a gru that applies the reset gate after the product; use "
        "cell=gru");
  if (!rnn.is_forward() || rnn.is_training())
    plugin::unsupported("persistent supports only forward passes of inference");
  if (rnn.precision.a != DEEPBENCH_F16 && rnn.precision.a != DEEPBENCH_BF16)
    plugin::unsupported("persistent supports only half and bfloat16");
  if (device.major < kOldestGeneration)
    plugin::unsupported("persistent needs a device of compute capability 8.0 or higher");
  if (rnn.batch > PERSISTENT_MAX_BATCH)
    plugin::unsupported("persistent supports only batches up to " +
                        std::to_string(PERSISTENT_MAX_BATCH));
  if (!device.cooperative_launch)
    plugin::unsupported("persistent needs a device that launches blocks together");
}

// Returns nothing if the weights do not fit into a block.
std::optional<PersistentPlan> plan_with(const Rnn& rnn, int64_t units, const DeviceFacts& device) {
  // Checks in double first, because the sizes of very large layers would not fit into 32 bits.
  const double weights = 2.0 * double(rnn.gates()) * double(units) * double(rnn.hidden);
  const double registers = PERSISTENT_WARPS * PERSISTENT_MAX_REGISTERS * PERSISTENT_PAIR_BYTES;
  if (weights > double(device.shared_bytes) + registers) return {};
  PersistentPlan plan;
  plan.name = "units=" + std::to_string(units);
  plan.shape = {uint32_t(rnn.gates()), uint32_t(rnn.hidden), uint32_t(units)};
  plan.blocks = uint32_t(ceil_div(rnn.hidden, units));
  plan.padded_hidden = ceil_div(rnn.hidden, PERSISTENT_PAIR_COLUMNS) * PERSISTENT_PAIR_COLUMNS;
  plan.shared_bytes = persistent_shared_bytes(plan.shape, uint32_t(rnn.batch));
  if (plan.shared_bytes > device.shared_bytes) return {};
  return plan;
}

bool has_threads(const Rnn& rnn, int64_t units) { return units * rnn.batch <= PERSISTENT_THREADS; }

// The largest number of units that needs the same number of tiles on top of one another.
int64_t max_units(int64_t units, int64_t gates) {
  const int64_t rows = ceil_div(units * gates, PERSISTENT_TILE) * PERSISTENT_TILE;
  return rows / gates / 2 * 2;
}

}  // namespace

std::vector<PersistentPlan> persistent_plans(const Rnn& rnn, const DeviceFacts& device) {
  require_supported_layer(rnn, device);
  // A block has at least two units, which are sent together. With fewer blocks, each waits for
  // fewer others.
  const int64_t min_units = 2 * ceil_div(rnn.hidden, 2 * int64_t(device.multiprocessors));
  const int64_t large_units = max_units(min_units, rnn.gates());
  std::vector<PersistentPlan> plans;
  if (auto plan = plan_with(rnn, min_units, device)) plans.push_back(*plan);
  if (large_units > min_units && has_threads(rnn, large_units))
    if (auto plan = plan_with(rnn, large_units, device)) plans.push_back(*plan);
  if (plans.empty())
    plugin::unsupported("the weights of " + layer_text(rnn) +
                        " do not fit into the registers and shared memory of " +
                        std::to_string(device.multiprocessors) + " multiprocessors");
  if (!has_threads(rnn, min_units))
    plugin::unsupported(layer_text(rnn) + " has " + std::to_string(min_units * rnn.batch) +
                        " states for each of " + std::to_string(device.multiprocessors) +
                        " multiprocessors, but persistent supports at most " +
                        std::to_string(PERSISTENT_THREADS) + ", one for each thread");
  return plans;
}

std::string persistent_expression(const Rnn& rnn, const PersistentPlan& plan) {
  return "persistent_layer<" + std::to_string(recurrent_cell(rnn)) + ", " +
         std::to_string(rnn.precision.a) + ", " + std::to_string(plan.shape.hidden) + ", " +
         std::to_string(plan.shape.units) + ", " + std::to_string(rnn.batch) + ">";
}

LayerStorage persistent_storage(const Rnn& rnn) {
  LayerStorage storage;
  storage.rnn = rnn;
  storage.type = rnn.precision.a;
  const uint64_t vector = uint64_t(rnn.hidden) * storage.element_bytes();
  uint64_t& end = storage.weights.bytes;
  for (int64_t gate = 0; gate < rnn.gates(); ++gate) {
    storage.weights.u.push_back(end);
    end = saturating_add(end, saturating_multiply(uint64_t(rnn.hidden), vector));
  }
  for (int64_t bias = 0; bias < rnn.biases(); ++bias) {
    storage.weights.b.push_back(end);
    end = saturating_add(end, vector);
  }
  return storage;
}

uint64_t persistent_workspace_bytes(const Rnn& rnn) {
  const uint32_t pitch = persistent_mailbox_pitch({0, uint32_t(rnn.hidden), 0});
  return uint64_t(rnn.batch) * pitch * sizeof(uint64_t) + sizeof(uint32_t);
}

}  // namespace deepbench::cuda
