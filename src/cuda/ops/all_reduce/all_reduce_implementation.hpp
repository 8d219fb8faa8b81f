// The base class of all libraries for all_reduce on devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/backend/all_reduce_implementation.hpp"
#include "deepbench/backend/participants.hpp"
#include "implementation.hpp"
#include "ops/all_reduce/operands.hpp"
#include "prepared_kernel.hpp"

// Instantiated once, in all_reduce_implementation.cpp.
extern template class deepbench::plugin::AllReduceImplementation<deepbench::cuda::RankMemory,
                                                                 deepbench::cuda::LibraryCall>;

namespace deepbench::cuda {

using plugin::Participants;

class AllReduceImplementation : public plugin::AllReduceImplementation<RankMemory, LibraryCall> {
 public:
  using plugin::AllReduceImplementation<RankMemory, LibraryCall>::AllReduceImplementation;

 protected:
  // The group's ranks with one device each.
  Participants find_participants(const plugin::Options& options) override;
  void require_supported_by_backend(const AllReduce& all_reduce, const Participants& participants,
                                    const plugin::Options& options) final;
  plugin::CopyPlan copies_for(const AllReduce& all_reduce, const plugin::Options& options) final;
  void before_allocating(const Participants& participants, uint64_t bytes) final;
  std::unique_ptr<plugin::Kernel> make_kernel(std::unique_ptr<AllReduceOperands> operands,
                                              const plugin::CopyPlan& copies,
                                              const std::string& algorithm) final;
};

}  // namespace deepbench::cuda
