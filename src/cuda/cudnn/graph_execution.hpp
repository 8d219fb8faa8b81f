// An engine of cuDNN that computes a graph of operations as a whole, the search for it, and its
// calls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "prepared_kernel.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class GraphExecution {
 public:
  // `engine` names one of engines(); "": the first that the library can build. `what` names the
  // operations in messages. Throws plugin::Error: unsupported if there is no engine, invalid if the
  // library lists no engine of this name.
  GraphExecution(const std::vector<CudnnDescriptor>& operations, const std::string& what,
                 const std::string& engine, const Stream& stream);

  const std::string& engine() const { return engine_; }
  std::vector<std::string> engines() const;  // in the order of the heuristics
  uint64_t workspace_bytes() const { return workspace_bytes_; }

  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle, const CudnnDescriptor& pack) const;

 private:
  void query_configs();
  bool try_build(const CudnnDescriptor& config, nvidia::cudnnHandle_t handle);

  CudnnDescriptor graph_;
  std::vector<CudnnDescriptor> configs_;
  CudnnDescriptor plan_;
  std::string engine_, refusal_;
  uint64_t workspace_bytes_ = 0;
};

// The data of a graph's tensors: ids and pointers, in the same order.
struct GraphData {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;
  void* workspace = nullptr;

  void add(int64_t id, void* pointer) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  CudnnDescriptor describe() const;
};

// Calls of a graph, each with the data of one copy. A derived class adds the copies in order.
class GraphCall : public LibraryCall {
 public:
  void enqueue(uint64_t copy) override;

 protected:
  // The execution must outlive the call.
  GraphCall(const GraphExecution& execution, const Stream& stream);

  void add_copy(CudnnDescriptor pack) { packs_.push_back(std::move(pack)); }

 private:
  const GraphExecution& execution_;
  const nvidia::cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> packs_;
};

}  // namespace deepbench::cuda
