// The engines of cuDNN that compute a graph of operations as a whole, and their calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "prepared_kernel.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// An engine that the library has built for a graph.
class GraphExecution {
 public:
  GraphExecution(std::string engine, CudnnDescriptor plan, double planning_ns);

  const std::string& engine() const { return engine_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  double planning_ns() const { return planning_ns_; }  // to name the engines and to build this one

  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle, const CudnnDescriptor& pack) const;

 private:
  std::string engine_;
  CudnnDescriptor plan_;
  uint64_t workspace_bytes_;
  double planning_ns_;
};

// The device that engines are for: that of a handle or, in tests, one that is described and need
// not exist.
using GraphTarget = std::variant<nvidia::cudnnHandle_t, CudnnDescriptor>;

// The engines of a graph, which all plans of a problem share. The library names them within
// milliseconds, and compiles kernels for about a second to build one.
class GraphEngines {
 public:
  // `what` names the operations in messages. Throws plugin::Error: unsupported if the library names
  // no engine.
  GraphEngines(const std::vector<CudnnDescriptor>& operations, std::string what,
               GraphTarget target);

  // In the order of the heuristics, but `first` before all others if it is one of them.
  std::vector<std::string> names(const std::string& first = "") const;
  // The engine, which is built when it is first requested and lives as long as this object. "": the
  // first that the library can build. Throws plugin::Error: invalid if the library does not name
  // the engine, unsupported if it cannot build it.
  const GraphExecution& build(const std::string& name);

 private:
  struct Config {
    std::string engine;
    CudnnDescriptor descriptor;
    std::string refusal = {};  // why the library cannot build it; "": it can, or was not asked
  };

  void query_configs();
  void add_config(CudnnDescriptor config);
  // nullptr if the library cannot build the engine.
  const GraphExecution* find_or_build(Config& config);
  [[noreturn]] void reject() const;

  const std::string what_;
  const GraphTarget target_;
  CudnnDescriptor graph_;
  std::vector<Config> configs_;                  // one for each engine
  std::map<std::string, GraphExecution> built_;  // by the engine's name
  std::string refusal_;                          // the library's last one
  double query_ns_ = 0;
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
