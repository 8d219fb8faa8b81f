// The base class of all libraries that sum over ranks in host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/backend/all_reduce_implementation.hpp"
#include "implementation.hpp"
#include "ops/all_reduce/operands.hpp"
#include "prepared_kernel.hpp"

// Instantiated once, in all_reduce_implementation.cpp.
extern template class deepbench::plugin::AllReduceImplementation<deepbench::cpu::RankMemory,
                                                                 deepbench::cpu::LibraryCall>;

namespace deepbench::cpu {

using plugin::Participants;

class AllReduceImplementation : public plugin::AllReduceImplementation<RankMemory, LibraryCall> {
 public:
  using plugin::AllReduceImplementation<RankMemory, LibraryCall>::AllReduceImplementation;

 protected:
  Participants find_participants(const plugin::Options& options) final;
  CopyPlan copies_for(const AllReduce& all_reduce, const plugin::Options& options) final;
  uint64_t ranks_sharing_memory() final;
  void before_allocating(const Participants& participants, uint64_t bytes) final;
  std::unique_ptr<plugin::Kernel> make_kernel(std::unique_ptr<AllReduceOperands> operands,
                                              const CopyPlan& copies,
                                              const std::string& algorithm) final;
};

// Call it before a batch: it binds each rank of a machine to different cores.
void bind_rank_to_core();

}  // namespace deepbench::cpu
