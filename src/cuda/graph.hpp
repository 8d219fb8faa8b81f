// A captured sequence of launches that can be launched as a whole.
#pragma once

#include <functional>
#include <stdexcept>

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

// Thrown if work cannot be captured. The stream has left capture mode and is usable.
class CaptureFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Graph {
 public:
  // Captures the work that `enqueue` enqueues on the stream. Throws CaptureFailed.
  Graph(nvidia::cudaStream_t stream, const std::function<void()>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(nvidia::cudaStream_t stream) const;

 private:
  nvidia::cudaGraph_t graph_ = nullptr;
  nvidia::cudaGraphExec_t executable_ = nullptr;
};

}  // namespace deepbench::cuda
