// One oneDNN primitive as a prepared call: its arguments for every copy of the operands, its
// scratchpad, and what all of oneDNN's rows say. Operations derive from it and add their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/ops/precision.hpp"
#include "deepbench/plugin.hpp"
#include "onednn/api.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {

// What all of oneDNN's calls have in common.
class OnednnCall : public LibraryCall {
 public:
  explicit OnednnCall(int threads) : threads_(threads) {}
  void begin_batch() override { Api::instance().use_threads(threads_); }
  std::string error_text(int status) const override;

 protected:
  void describe_library(const std::string& algorithm, uint64_t workspace, plugin::Sink& sink) const;

 private:
  int threads_;
};

class PrimitiveCall : public OnednnCall {
 public:
  // Creates the primitive, which takes its time, and its scratchpad. The description's owner must
  // live as long as the call.
  PrimitiveCall(const_dnnl_primitive_desc_t description, uint64_t copies, int64_t workspace_limit,
                int threads);

  int run(uint64_t copy) override;
  // Derived classes add to it.
  void describe(plugin::Sink& sink) const override;

 protected:
  // The argument DNNL_ARG_... of this copy lies at `data`.
  void set(uint64_t copy, int argument, const_dnnl_memory_desc_t description, void* data);
  void set(uint64_t copy, int argument, MemoryObject memory);
  const_dnnl_memory_desc_t description(dnnl_query_t which, int index = 0) const;

 private:
  const_dnnl_primitive_desc_t description_;
  uint64_t scratchpad_bytes_ = 0;
  Buffer scratchpad_;
  Primitive primitive_;
  std::vector<MemoryObject> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> arguments_;
  decltype(&dnnl_primitive_execute) execute_ = Api::instance().primitive_execute_f;
  dnnl_stream_t stream_ = Api::instance().stream();
  int64_t workspace_limit_;
  double planning_ns_ = 0;
};

// The library's name of the implementation that a description stands for.
std::string implementation_name(const_dnnl_primitive_desc_t description);
uint64_t scratchpad_bytes(const_dnnl_primitive_desc_t description);

// Goes on in the library's list to the implementation of this name, if there is one. Not by number:
// what oneDNN has in its cache the list has once more.
bool advance_to(dnnl_primitive_desc_t description, const std::string& name);
// Those behind the library's own choice, each once; the list is at its end then.
std::vector<std::string> alternative_implementations(dnnl_primitive_desc_t description);

// Whether it is oneDNN's plain loops. Recurrent layers' is no such: "ref" joins matrix products.
bool is_reference(const std::string& implementation);
// Whether it is those, of some 10^8 multiplications a second, for so much work that it is no
// answer, only a way to lose an hour.
bool is_too_slow(const std::string& implementation, double flops);
// Throws plugin::Error, unsupported, if so.
void reject_too_slow(const std::string& implementation, double flops);

// Whether it is for processors without VNNI, where this one has it: such implementations add
// products of 8-bit integers in pairs of 16 bits, which do not hold those of all values.
bool is_saturating(const std::string& implementation);
// Throws plugin::Error, unsupported, if so.
void reject_saturating(const std::string& implementation);

// Reorders data at `from` into `to`, up to `times` times; the median of what that took, in ns: the
// first also touches fresh pages. `attributes` may name scales.
double reorder(const_dnnl_memory_desc_t from_description, void* from,
               const_dnnl_memory_desc_t to_description, void* to, int times = 5,
               const_dnnl_primitive_attr_t attributes = nullptr);

// oneDNN's name for how an element is stored; dnnl_data_type_undef where it has none.
dnnl_data_type_t data_type(deepbench_type type);

// Throws plugin::Error, unsupported, for the precisions that no processor of oneDNN's has.
void require_precision(Precision precision);

// Where bfloat16 is computed in float, for want of instructions.
void describe_emulation(deepbench_type type, plugin::Sink& sink);

// Attributes of a primitive: a scratchpad of ours, no precision below the one asked for.
Attributes strict_attributes();

}  // namespace deepbench::cpu::onednn
