// The base class of all libraries for collectives in host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/backend/collective_implementation.hpp"
#include "implementation.hpp"
#include "ops/collective/operands.hpp"
#include "prepared_kernel.hpp"

// Instantiated once, in collective_implementation.cpp.
extern template class deepbench::plugin::CollectiveImplementation<deepbench::cpu::RankMemory,
                                                                  deepbench::cpu::LibraryCall>;

namespace deepbench::cpu {

using plugin::Participants;

class CollectiveImplementation : public plugin::CollectiveImplementation<RankMemory, LibraryCall> {
 public:
  using plugin::CollectiveImplementation<RankMemory, LibraryCall>::CollectiveImplementation;

 protected:
  Participants find_participants(const Collective& collective,
                                 const plugin::Options& options) final;
  CopyPlan copies_for(const Collective& collective, int ranks,
                      const plugin::Options& options) final;
  uint64_t ranks_sharing_memory() final;
  void before_allocating(const Participants& participants, uint64_t bytes) final;
  std::unique_ptr<plugin::Kernel> make_kernel(std::unique_ptr<CollectiveOperands> operands,
                                              const CopyPlan& copies,
                                              const std::string& algorithm) final;
};

// Binds each rank of a machine to different cores. Must be called before a batch.
void bind_rank_to_core();

}  // namespace deepbench::cpu
