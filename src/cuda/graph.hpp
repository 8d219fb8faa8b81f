// A captured sequence of launches, ready to be launched as one.
#pragma once

#include <functional>
#include <stdexcept>

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

// The work cannot be captured; the stream is out of capture again and can be used.
class CaptureFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Graph {
 public:
  // Captures what `enqueue` gives to the stream. Throws CaptureFailed.
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
