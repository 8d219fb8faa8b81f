// An exchange of words among the threads of a device, step by step.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "kernels/exchange.h"
#include "ops/memory/exchange_plan.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class ExchangeCall {
 public:
  ExchangeCall(const Memory& memory, ExchangePlan plan, uint64_t seed, Stream& stream);

  void enqueue(const std::byte* source, std::byte* destination) const;
  void describe(plugin::Sink& sink) const;

 private:
  const ExchangePlan plan_;
  const nvidia::cudaStream_t stream_;
  const PlannedFunction function_;
  Buffer mailbox_, weights_;
  Exchange exchange_ = {};
};

}  // namespace deepbench::cuda
