// The memory that a recurrent layer's operands take, and which of them a call touches.
#include <doctest/doctest.h>

#include <string>

#include "ops/rnn/composition.hpp"
#include "ops/rnn/storage.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::LayerPart;
using cuda::LayerStorage;

LayerStorage storage_of(const std::string& cell, const std::string& phase,
                        const std::string& mode = "training") {
  LayerStorage storage;
  storage.rnn.cell = cell, storage.rnn.phase = phase, storage.rnn.mode = mode;
  storage.rnn.hidden = 64, storage.rnn.batch = 2, storage.rnn.timesteps = 10;
  storage.rnn.inputs = 64;
  storage.rnn.precision = precision_info("half");
  storage.type = DEEPBENCH_F16;
  storage.weights.bytes = 40000;
  storage.reserve_bytes = mode == "training" ? 5000 : 0;
  storage.changes_reserve = true;
  return storage;
}

constexpr uint64_t kSequence = 10 * 2 * 64 * 2, kState = 2 * 64 * 2;

TEST_CASE("rnn operands: touched bytes count each operand that a call reads or writes once") {
  CHECK(storage_of("vanilla", "fwd", "inference").touched_bytes() ==
        2 * kSequence + kState + 40000);
  CHECK(storage_of("lstm", "fwd").touched_bytes() == 2 * kSequence + 2 * kState + 40000 + 5000);
  // y, dy and dx; h0, c0 and dh0; weights and reserve space.
  CHECK(storage_of("lstm", "bwd_data").touched_bytes() == 3 * kSequence + 3 * kState + 45000);
  // x and y; h0; the gradient of the weights and the reserve space.
  CHECK(storage_of("gru", "bwd_weights").touched_bytes() == 2 * kSequence + kState + 45000);
}

TEST_CASE("rnn operands: only operands that the timed call touches are replicated") {
  const plugin::CopyPlan ten = {plugin::Regime::kRotation, 10, 0};
  const LayerStorage data = storage_of("lstm", "bwd_data");
  CHECK(data.copies_of(LayerPart::kX, ten) == 1);
  CHECK(data.copies_of(LayerPart::kReserve, ten) == 10);
  CHECK(data.bytes(LayerPart::kDWeights) == 0);
  const LayerStorage weights = storage_of("lstm", "bwd_weights");
  CHECK(weights.copies_of(LayerPart::kX, ten) == 10);
  CHECK(weights.copies_of(LayerPart::kWeights, ten) == 1);
  CHECK(weights.copies_of(LayerPart::kDx, ten) == 1);
  for (const LayerStorage& storage : {data, weights}) {
    CHECK(storage.needed_bytes(ten) > 10 * storage.touched_bytes());
    CHECK(storage.needed_bytes({}) > storage.touched_bytes());
  }
}

TEST_CASE("rnn operands: gradients restore operands between calls, forward passes do not") {
  CHECK_FALSE(storage_of("gru", "fwd").needs_restore());
  CHECK(storage_of("gru", "bwd_weights").needs_restore());
  LayerStorage data = storage_of("gru", "bwd_data");
  CHECK(data.needs_restore());
  const uint64_t with_reserve = data.needed_bytes({});
  data.changes_reserve = false;
  CHECK_FALSE(data.needs_restore());
  CHECK(data.needed_bytes({}) == with_reserve - 5000);
}

TEST_CASE("rnn operands: sizes that overflow saturate") {
  LayerStorage storage = storage_of("lstm", "bwd_data");
  storage.rnn.batch = storage.rnn.timesteps = 10'000'000;
  storage.rnn.hidden = storage.rnn.inputs = 20'000;
  CHECK(storage.needed_bytes({}) == ~uint64_t{0});
  CHECK(cuda::Composition::needed_bytes(storage.rnn) == ~uint64_t{0});
}

}  // namespace
}  // namespace deepbench::cuda_test
