// The base class of all libraries that sum over ranks: it checks the problem and makes a kernel
// from the library's call.
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
  // The library's algorithms. The first one is the default.
  virtual std::vector<std::string> algorithms(const AllReduce& all_reduce) = 0;
  // Throws plugin::Error (unsupported) if the library or the requested algorithm cannot run this
  // problem in this process. `algorithm` is "" for the library's default.
  virtual void require(const AllReduce& all_reduce, const std::string& algorithm) {
    (void)all_reduce, (void)algorithm;
  }
  // All ranks call this before selection tries algorithms. It does slow initialization that a
  // process needs once; otherwise the first algorithm that needs it would use up the time of the
  // others.
  virtual void before_selection() {}
  virtual std::unique_ptr<LibraryCall> call(const AllReduceOperands& operands,
                                            const std::string& algorithm) = 0;

 private:
  const std::string name_;
};

// Call it before a batch: it binds each rank of a machine to different cores.
void bind_rank();

}  // namespace deepbench::cpu
