// Launches the kernels of kernels/exchange.cu.
#include "ops/memory/exchange.hpp"

#include <utility>

#include "deepbench/plugin.hpp"
#include "libraries.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// The value of each of four bytes. It differs from 0, the initial contents of the mailbox.
constexpr int kFirstStep = 1;

// Fills the weights with random even words.
void fill_weights(Buffer& weights, uint64_t bytes, uint64_t seed, const Stream& stream) {
  LaunchShape shape;
  shape.grid_x = 1024;
  shape.block_x = 256;
  function("memory", "fill_words", stream)
      .launch(shape, stream.get(), static_cast<void*>(weights.data()),
              uint64_t(bytes / sizeof(uint32_t)), uint32_t{1}, uint32_t{0}, seed);
}

}  // namespace

ExchangeCall::ExchangeCall(const Memory& memory, ExchangePlan plan, uint64_t seed, Stream& stream)
    : plan_(std::move(plan)),
      stream_(stream.get()),
      function_(planned_function("exchange", plan_.kernel, stream)) {
  if (plan_.launch.cooperative) function_.kernel.require_resident(plan_.launch, stream.device());
  exchange_.words = uint32_t(memory.words());
  exchange_.shift = uint32_t(memory.exchange_shift());
  exchange_.steps = uint32_t(memory.steps());
  if (plan_.mailbox_bytes > 0) {
    mailbox_ = Buffer(plan_.mailbox_bytes);
    std::byte* const steps = mailbox_.data() + plan_.mailbox_bytes - sizeof(uint32_t);
    CUDA_CHECK(cudart().cudaMemsetAsync(mailbox_.data(), 0, plan_.mailbox_bytes, stream_));
    CUDA_CHECK(cudart().cudaMemsetAsync(steps, kFirstStep, sizeof(uint32_t), stream_));
    exchange_.mailbox = reinterpret_cast<uint64_t*>(mailbox_.data());
    exchange_.steps_before = reinterpret_cast<uint32_t*>(steps);
  }
  if (plan_.weight_bytes > 0) {
    weights_ = Buffer(plan_.weight_bytes);
    fill_weights(weights_, plan_.weight_bytes, seed, stream);
    exchange_.weights = weights_.data();
    exchange_.weight_vectors = plan_.weight_bytes / sizeof(uint32_t[4]);
  }
  stream.synchronize();
}

void ExchangeCall::enqueue(const std::byte* source, std::byte* destination) const {
  Exchange exchange = exchange_;
  exchange.source = reinterpret_cast<const uint32_t*>(source);
  exchange.destination = reinterpret_cast<uint32_t*>(destination);
  function_.kernel.launch(plan_.launch, stream_, exchange);
}

void ExchangeCall::describe(plugin::Sink& sink) const {
  function_.describe(sink);
  sink.text("note.exchange", plan_.placement);
}

}  // namespace deepbench::cuda
