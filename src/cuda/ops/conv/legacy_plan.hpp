// A convolution for cuDNN's legacy API: descriptors, the algorithms that its heuristics return, and
// the call of one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cudnn/unique_descriptor.hpp"
#include "deepbench/plugin.hpp"
#include "libraries.hpp"
#include "ops/conv/layout.hpp"
#include "stream.hpp"

namespace deepbench::cuda::legacy {

// An algorithm of the problem's phase, by the library's number.
struct Algorithm {
  int number = 0;
  nvidia::cudnnMathType_t math = nvidia::CUDNN_DEFAULT_MATH;
  uint64_t workspace_bytes = 0;
  bool nondeterministic = false;
};

std::string name_of(ConvPhase phase, int number);

class Convolution {
 public:
  // Throws plugin::Error (unsupported) if the library rejects the tensors.
  Convolution(const ConvLayout& layout, nvidia::cudnnHandle_t handle);

  // Best first. Algorithms that fail for these dimensions are omitted.
  std::vector<Algorithm> algorithms() const;

  void set_math(nvidia::cudnnMathType_t math) const;
  nvidia::cudnnStatus_t call(const Algorithm& algorithm, void* x, void* w, void* y,
                             void* workspace) const;

 private:
  template <class Perf>
  std::vector<Algorithm> usable_algorithms(const std::vector<Perf>& results, int count) const;
  nvidia::cudnnStatus_t query_workspace(int number, size_t* bytes) const;

  ConvPhase phase_;
  bool is_float_, is_int8_;
  float scale_;  // alpha, the factor of the output
  nvidia::cudnnHandle_t handle_;
  UniqueCudnn<nvidia::cudnnTensorDescriptor_t> x_, y_;
  UniqueCudnn<nvidia::cudnnFilterDescriptor_t> w_;
  UniqueCudnn<nvidia::cudnnConvolutionDescriptor_t> convolution_;
};

struct ConvPlan {
  ConvLayout layout;
  std::shared_ptr<const Convolution> convolution;
  Algorithm algorithm;
  double planning_ns = 0;

  uint64_t workspace_bytes() const { return algorithm.workspace_bytes; }
  bool is_winograd() const;
  bool is_fft() const;
  std::string id() const;              // "nhwc:IMPLICIT_PRECOMP_GEMM"
  std::string algorithm_text() const;  // for rows
};

// The library's answers about one convolution, which all its plans share: each layout is queried
// once.
class ConvQueries {
 public:
  ConvQueries(const Conv& conv, const std::string& layout, const plugin::Options& options);

  // Plans the candidate, or the first choice if it is "". Throws plugin::Error: unsupported with
  // the reason, or invalid for an unknown candidate.
  ConvPlan plan(const std::string& candidate) const;
  std::vector<std::string> candidates(int64_t limit) const;

 private:
  void add_allowed_plans(const ConvLayout& layout, const Stream& stream);

  const Conv conv_;
  const plugin::Options options_;
  std::vector<ConvPlan> plans_;  // plans that the problem and the options allow, best first
  std::string reasons_;          // reasons why other plans are missing
};

}  // namespace deepbench::cuda::legacy
