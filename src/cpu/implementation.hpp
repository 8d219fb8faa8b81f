// One operation through one library: what backend.cpp's table lists, and what a file in ops/
// implements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "library.hpp"

namespace deepbench::cpu {

// Whether a library can be used here, as describe() reports it.
struct LibraryFacts {
  std::string version, path;  // when it can
  std::string reason;         // when it cannot; empty otherwise
  bool usable() const { return reason.empty(); }
};

class Implementation {
 public:
  virtual ~Implementation() = default;

  virtual LibraryFacts library() = 0;
  // Throws plugin::Error with the reason if it cannot run the problem.
  virtual void supports(const plugin::Problem& problem, const plugin::Options& options) = 0;
  virtual uint64_t memory_needed(const plugin::Problem& problem,
                                 const plugin::Options& options) = 0;
  virtual std::vector<std::string> candidates(const plugin::Problem& problem,
                                              const plugin::Options& options) = 0;
  virtual std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                                  const plugin::Options& options) = 0;
};

// Made on first use; they live as long as the process.
Implementation& onednn_gemm();
Implementation& openblas_gemm();
Implementation& mkl_gemm();
Implementation& threads_memory();

}  // namespace deepbench::cpu
