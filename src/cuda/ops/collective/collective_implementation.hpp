// The base class of all libraries for collectives on devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/backend/collective_implementation.hpp"
#include "deepbench/backend/participants.hpp"
#include "implementation.hpp"
#include "ops/collective/operands.hpp"
#include "prepared_kernel.hpp"

// Instantiated once, in collective_implementation.cpp.
extern template class deepbench::plugin::CollectiveImplementation<deepbench::cuda::RankMemory,
                                                                  deepbench::cuda::LibraryCall>;

namespace deepbench::cuda {

using plugin::Participants;

class CollectiveImplementation : public plugin::CollectiveImplementation<RankMemory, LibraryCall> {
 public:
  using plugin::CollectiveImplementation<RankMemory, LibraryCall>::CollectiveImplementation;

 protected:
  // The group's ranks with one device each.
  Participants find_participants(const Collective& collective,
                                 const plugin::Options& options) override;
  void require_supported_by_backend(const Collective& collective, const Participants& participants,
                                    const plugin::Options& options) final;
  plugin::CopyPlan copies_for(const Collective& collective, int ranks,
                              const plugin::Options& options) final;
  void before_allocating(const Participants& participants, uint64_t bytes) final;
  std::unique_ptr<plugin::Kernel> make_kernel(std::unique_ptr<CollectiveOperands> operands,
                                              const plugin::CopyPlan& copies,
                                              const std::string& algorithm) final;
};

}  // namespace deepbench::cuda
