// What every library that sums over ranks on devices shares: what it can sum, and a kernel of its
// call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "ops/all_reduce/operands.hpp"

namespace deepbench::cuda {

class Summation : public Implementation {
 public:
  explicit Summation(std::string name) : name_(std::move(name)) {}

  void supports(const plugin::Problem& problem, const plugin::Options& options) final;
  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) final;
  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) final;
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) final;

 protected:
  // The library's ways to do it, its own choice first.
  virtual std::vector<std::string> ways(const AllReduce& sum) = 0;
  // Throws unsupported where this process is none for the library, or has not the ranks. By default
  // the group's ranks with a device each.
  virtual Seats seats(const plugin::Options& options);
  // Throws unsupported where the problem is none for the library.
  virtual void require(const AllReduce& sum, const Seats& seats) { (void)sum, (void)seats; }
  // Of a way, on each device, beside the operands.
  virtual uint64_t workspace_bytes(const AllReduce& sum, const std::string& way) {
    (void)sum, (void)way;
    return 0;
  }
  // On all ranks alike, with the operands in place: they may exchange what they need.
  virtual std::unique_ptr<LibraryCall> call(AllReduceOperands& operands,
                                            const std::string& way) = 0;

 private:
  std::string way_of(const AllReduce& sum, const plugin::Options& options);

  const std::string name_;
};

}  // namespace deepbench::cuda
