// Runs one oneDNN primitive as a library call. The class holds the primitive's scratchpad and its
// arguments for every copy of the operands, and reports what all rows through oneDNN have in
// common. Operations derive from it and add their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"
#include "onednn/api.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {

// The parts that all calls into oneDNN share.
class OnednnCall : public LibraryCall {
 public:
  explicit OnednnCall(int threads) : threads_(threads) {}
  void begin_batch() override { Api::instance().use_threads(threads_); }
  std::string error_text(int status) const override;

 private:
  int threads_;
};

class PrimitiveCall : public OnednnCall {
 public:
  // Creates the primitive and its scratchpad; planning_ns reports how long the creation takes. The
  // owner of `description` must live as long as the call.
  PrimitiveCall(const_dnnl_primitive_desc_t description, uint64_t copies, int threads);

  int run(uint64_t copy) override;
  // Derived classes extend this description.
  void describe(plugin::Sink& sink) const override;

 protected:
  // Declares that the argument `argument` (DNNL_ARG_...) of this copy lies at `data`.
  void set_argument(uint64_t copy, int argument, const_dnnl_memory_desc_t description, void* data);
  void set_argument(uint64_t copy, int argument, MemoryObject memory);
  const_dnnl_memory_desc_t description(dnnl_query_t which, int index = 0) const;

 private:
  const_dnnl_primitive_desc_t description_;
  Buffer scratchpad_;
  Primitive primitive_;
  std::vector<MemoryObject> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> arguments_;
  decltype(&dnnl_primitive_execute) execute_ = Api::instance().primitive_execute_f;
  dnnl_stream_t stream_ = Api::instance().stream();
  double planning_ns_ = 0;
};

// The library's name in rows.
std::string library_name();

// Emits the facts of a plan that runs the primitive and takes `memory_bytes`.
void describe_primitive(const_dnnl_primitive_desc_t description, uint64_t memory_bytes,
                        int64_t workspace_limit, plugin::Sink& sink);

// Throws plugin::Error (unsupported) unless oneDNN could create the description of a primitive.
// `what` the primitive computes ends the words "oneDNN has no".
void require_primitive(dnnl_status_t status, const std::string& what,
                       const PrecisionInfo& precision);

// The name that oneDNN gives to the implementation behind `description`.
std::string implementation_name(const_dnnl_primitive_desc_t description);
uint64_t scratchpad_bytes(const_dnnl_primitive_desc_t description);

// Advances `description` in oneDNN's list to the implementation with this name and returns false if
// the list has none. It compares names and not positions, because oneDNN lists a cached
// implementation twice.
bool advance_to_implementation(dnnl_primitive_desc_t description, const std::string& name);
// Moves oneDNN's list of implementations from `description` to `list`, so that reading the list
// does not change the plan.
void detach_from_list(PrimitiveDesc& description, PrimitiveDesc& list);
// Lists each implementation behind oneDNN's default once. Leaves `description` at the end of the
// list.
std::vector<std::string> alternative_implementations(dnnl_primitive_desc_t description);

// Whether the implementation is one of oneDNN's plain loops. An RNN implementation whose name
// begins with "ref" is not one of them: it calls optimized matrix products.
bool is_reference(const std::string& implementation);
// Whether the implementation is a plain loop, which reaches about 10^8 multiplications per second,
// and `flops` exceeds 10^9.
bool is_too_slow(const std::string& implementation, double flops);
// Throws plugin::Error (unsupported) if is_too_slow() holds.
void reject_too_slow(const std::string& implementation, double flops);

// Whether the implementation targets processors without VNNI although this processor has VNNI. Such
// implementations add pairs of 8-bit products in 16 bits, which saturate for some values.
bool is_saturating(const std::string& implementation);
// Throws plugin::Error (unsupported) if is_saturating() holds.
void reject_saturating(const std::string& implementation);

// Reorders the data at `from` into `to`, up to `times` times, and returns the times in ns.
// The first reorder is slower because it also touches new pages. `attributes` may define scales.
std::vector<double> reorder(const_dnnl_memory_desc_t from_description, void* from,
                            const_dnnl_memory_desc_t to_description, void* to, int times = 5,
                            const_dnnl_primitive_attr_t attributes = nullptr);

// oneDNN's name of an element type, or dnnl_data_type_undef if oneDNN does not have the type.
dnnl_data_type_t data_type(deepbench_type type);

// Throws plugin::Error (unsupported) for a precision that oneDNN supports on no processor.
void require_precision(Precision precision);

// Adds a note to the row if oneDNN computes bfloat16 in float because the processor lacks the
// instructions.
void describe_emulation(deepbench_type type, plugin::Sink& sink);

// Attributes that select a caller-provided scratchpad and forbid precisions below the requested
// one.
Attributes strict_attributes();

}  // namespace deepbench::cpu::onednn
