// What every library that sums over ranks shares: what it can sum, and a kernel of its call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "ops/all_reduce/operands.hpp"

namespace deepbench::cpu {

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
  // The library's algorithms, its default first.
  virtual std::vector<std::string> algorithms(const AllReduce& all_reduce) = 0;
  // Throws unsupported where this process or this problem is none for the library, or for the
  // algorithm that was asked for, which is "" for its own choice.
  virtual void require(const AllReduce& all_reduce, const std::string& algorithm) {
    (void)all_reduce, (void)algorithm;
  }
  // By all ranks, before algorithms are tried: what is slow, and done once in a process, would be
  // in the time of the first that needs it, and leave none for the others.
  virtual void before_selection() {}
  virtual std::unique_ptr<LibraryCall> call(const AllReduceOperands& operands,
                                            const std::string& algorithm) = 0;

 private:
  const std::string name_;
};

// Before a batch: ranks of one machine have cores of their own.
void bind_rank();

}  // namespace deepbench::cpu
