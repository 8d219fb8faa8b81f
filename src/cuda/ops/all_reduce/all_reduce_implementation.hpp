// What every library that sums over ranks on devices shares: what it can all_reduce, and a kernel
// of its call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "ops/all_reduce/operands.hpp"

namespace deepbench::cuda {

class AllReduceImplementation : public Implementation {
 public:
  explicit AllReduceImplementation(std::string name) : name_(std::move(name)) {}

  void supports(const plugin::Problem& problem, const plugin::Options& options) final;
  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) final;
  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) final;
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) final;

 protected:
  // The library's algorithms to do it, its default first.
  virtual std::vector<std::string> algorithms(const AllReduce& all_reduce) = 0;
  // Throws unsupported where this process is none for the library, or has not the ranks. By default
  // the group's ranks with a device each.
  virtual Participants find_participants(const plugin::Options& options);
  // Throws unsupported where the problem is none for the library.
  virtual void require(const AllReduce& all_reduce, const Participants& participants) {
    (void)all_reduce, (void)participants;
  }
  // Of an algorithm, on each device, beside the operands.
  virtual uint64_t workspace_bytes(const AllReduce& all_reduce, const std::string& algorithm) {
    (void)all_reduce, (void)algorithm;
    return 0;
  }
  // On all ranks alike, with the operands in place: they may exchange what they need.
  virtual std::unique_ptr<LibraryCall> call(AllReduceOperands& operands,
                                            const std::string& algorithm) = 0;

 private:
  std::string algorithm_of(const AllReduce& all_reduce, const plugin::Options& options);

  const std::string name_;
};

}  // namespace deepbench::cuda
