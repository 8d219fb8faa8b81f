// What all libraries for all_reduce on devices share: the checks of support, and the kernel around
// the library's call.
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
  // The library's algorithms for the problem, its default first.
  virtual std::vector<std::string> algorithms(const AllReduce& all_reduce) = 0;
  // Throws unsupported if the library cannot run in this process or the number of ranks does not
  // suit it. The default implementation returns the group's ranks with one device each.
  virtual Participants find_participants(const plugin::Options& options);
  // Throws unsupported if the library does not support the problem.
  virtual void require(const AllReduce& all_reduce, const Participants& participants) {
    (void)all_reduce, (void)participants;
  }
  // The workspace of an algorithm on each device, in addition to the operands.
  virtual uint64_t workspace_bytes(const AllReduce& all_reduce, const std::string& algorithm) {
    (void)all_reduce, (void)algorithm;
    return 0;
  }
  // Called on all ranks alike when the operands are allocated. The ranks may exchange data.
  virtual std::unique_ptr<LibraryCall> call(AllReduceOperands& operands,
                                            const std::string& algorithm) = 0;

 private:
  std::string algorithm_of(const AllReduce& all_reduce, const plugin::Options& options);

  const std::string name_;
};

}  // namespace deepbench::cuda
