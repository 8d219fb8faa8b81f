// Executes primitives and queries oneDNN about them.
#include "onednn/primitive_call.hpp"

#include <algorithm>

#include "deepbench/backend/host_timer.hpp"
namespace deepbench::cpu::onednn {
namespace {

constexpr double kMaxReorderNs = 300e6;  // A longer measurement of a reorder adds no information.
constexpr double kMaxReferenceFlops = 1e9;

}  // namespace

std::string OnednnCall::error_text(int status) const {
  return std::string("oneDNN: ") + status_text(static_cast<dnnl_status_t>(status));
}

PrimitiveCall::PrimitiveCall(const_dnnl_primitive_desc_t description, uint64_t copies, int threads)
    : OnednnCall(threads),
      description_(description),
      scratchpad_(scratchpad_bytes(description)),
      arguments_(copies) {
  const Clock::time_point begin = Clock::now();
  primitive_ = primitive_of(description);
  planning_ns_ = elapsed_ns(begin, Clock::now());
  for (uint64_t copy = 0; copy < copies; ++copy)
    set_argument(copy, DNNL_ARG_SCRATCHPAD, this->description(dnnl_query_scratchpad_md),
                 scratchpad_.data());
}

int PrimitiveCall::run(uint64_t copy) {
  const std::vector<dnnl_exec_arg_t>& arguments = arguments_[copy];
  return execute_(primitive_.get(), stream_, int(arguments.size()), arguments.data());
}

void PrimitiveCall::describe(plugin::Sink& sink) const { sink.real("planning_ns", planning_ns_); }

void PrimitiveCall::set_argument(uint64_t copy, int argument, const_dnnl_memory_desc_t description,
                                 void* data) {
  set_argument(copy, argument, memory_at(description, data));
}

void PrimitiveCall::set_argument(uint64_t copy, int argument, MemoryObject memory) {
  arguments_[copy].push_back({argument, memory.get()});
  memories_.push_back(std::move(memory));
}

const_dnnl_memory_desc_t PrimitiveCall::description(dnnl_query_t which, int index) const {
  return Api::instance().primitive_desc_query_md_f(description_, which, index);
}

std::string library_name() { return "onednn " + Api::instance().version(); }

void describe_primitive(const_dnnl_primitive_desc_t description, uint64_t memory_bytes,
                        int64_t workspace_limit, plugin::Sink& sink) {
  const std::string implementation = implementation_name(description);
  const uint64_t scratchpad = scratchpad_bytes(description);
  describe_plan(library_name(), implementation, memory_bytes, scratchpad, sink);
  if (is_reference(implementation))
    sink.text(
        "note.reference",
        "oneDNN has only its reference implementation for this problem, which is not optimized");
  if (int64_t(scratchpad) > workspace_limit)
    sink.text("note.workspace", "oneDNN's scratchpad cannot be limited");
}

std::string implementation_name(const_dnnl_primitive_desc_t description) {
  const char* name = nullptr;
  const Api& api = Api::instance();
  api.check(api.primitive_desc_query_f(description, dnnl_query_impl_info_str, 0, &name),
            "asking for the implementation");
  return name ? name : "unknown";
}

uint64_t scratchpad_bytes(const_dnnl_primitive_desc_t description) {
  const Api& api = Api::instance();
  return api.memory_desc_get_size_f(
      api.primitive_desc_query_md_f(description, dnnl_query_scratchpad_md, 0));
}

bool advance_to_implementation(dnnl_primitive_desc_t description, const std::string& name) {
  while (implementation_name(description) != name)
    if (Api::instance().primitive_desc_next_impl_f(description) != dnnl_success) return false;
  return true;
}

void detach_from_list(PrimitiveDesc& description, PrimitiveDesc& list) {
  list = copy_of(description.get());
  list.swap(description);
}

std::vector<std::string> alternative_implementations(dnnl_primitive_desc_t description) {
  std::vector<std::string> names = {implementation_name(description)};
  while (Api::instance().primitive_desc_next_impl_f(description) == dnnl_success) {
    const std::string name = implementation_name(description);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  names.erase(names.begin());
  return names;
}

bool is_reference(const std::string& implementation) {
  return implementation.compare(0, 4, "ref:") == 0 ||
         implementation.compare(0, 10, "simple:ref") == 0;
}

bool is_too_slow(const std::string& implementation, double flops) {
  return is_reference(implementation) && flops > kMaxReferenceFlops;
}

void reject_too_slow(const std::string& implementation, double flops) {
  if (is_too_slow(implementation, flops))
    plugin::unsupported("oneDNN " + Api::instance().version() +
                        " has only its reference implementation (" + implementation +
                        ") for this problem, and one call would take seconds or longer");
}

bool is_saturating(const std::string& implementation) {
  if (!Api::instance().has_exact_int8()) return false;
  const std::string isa = implementation.substr(implementation.rfind(':') + 1);
  return isa == "avx512_core" || isa == "avx2" || isa == "avx" || isa == "sse41";
}

void reject_saturating(const std::string& implementation) {
  if (is_saturating(implementation))
    plugin::unsupported("oneDNN " + Api::instance().version() + "'s " + implementation +
                        " adds products of 8-bit integers in 16 bits, where they saturate; this "
                        "processor has VNNI, whose implementations are exact");
}

std::vector<double> reorder(const_dnnl_memory_desc_t from_description, void* from,
                            const_dnnl_memory_desc_t to_description, void* to, int times,
                            const_dnnl_primitive_attr_t attributes) {
  const Api& api = Api::instance();
  dnnl_primitive_desc_t made = nullptr;
  api.check(api.reorder_primitive_desc_create_f(&made, from_description, api.engine(),
                                                to_description, api.engine(), attributes),
            "planning a reorder");
  const PrimitiveDesc description(made);
  const Primitive primitive = primitive_of(made);
  const MemoryObject source = memory_at(from_description, from);
  const MemoryObject target = memory_at(to_description, to);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source.get()}, {DNNL_ARG_TO, target.get()}};
  const auto time_reorder = [&] {
    const plugin::HostTimer timer;
    api.check(api.primitive_execute_f(primitive.get(), api.stream(), 2, arguments), "reordering");
    api.check(api.stream_wait_f(api.stream()), "reordering");
    return timer.elapsed_ns();
  };
  return plugin::sample_times_ns({1, size_t(times), kMaxReorderNs}, time_reorder);
}

dnnl_data_type_t data_type(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F32:
      return dnnl_f32;
    case DEEPBENCH_BF16:
      return dnnl_bf16;
    case DEEPBENCH_F16:
      return dnnl_f16;
    case DEEPBENCH_S32:
      return dnnl_s32;
    case DEEPBENCH_U8:
      return dnnl_u8;
    case DEEPBENCH_S8:
    case DEEPBENCH_S7:
      return dnnl_s8;
    default:
      return dnnl_data_type_undef;
  }
}

void require_primitive(dnnl_status_t status, const std::string& what,
                       const PrecisionInfo& precision) {
  if (status == dnnl_success) return;
  const Api& api = Api::instance();
  plugin::unsupported("oneDNN " + api.version() + " has no " + what + " in " +
                      std::string(precision.name) + " for this processor (" + api.isa_text() +
                      "): " + status_text(status));
}

void require_precision(Precision precision) {
  const std::string library = "oneDNN " + Api::instance().version();
  switch (precision) {
    case Precision::kTf32:
      plugin::unsupported("no processor that " + library + " knows has tf32 instructions");
    case Precision::kFp8E4m3:
    case Precision::kFp8E5m2:
      plugin::unsupported(library + " has no 8-bit floating-point types");
    default:
      break;
  }
}

void describe_emulation(deepbench_type type, plugin::Sink& sink) {
  constexpr unsigned kNative =
      unsigned(dnnl_cpu_isa_avx512_core_bf16) & ~unsigned(dnnl_cpu_isa_avx512_core_vnni);
  constexpr unsigned kNativeOnAvx2 =
      unsigned(dnnl_cpu_isa_avx2_vnni_2) & ~unsigned(dnnl_cpu_isa_avx2_vnni);
  const auto isa = unsigned(Api::instance().get_effective_cpu_isa_f());
  if (type == DEEPBENCH_BF16 && (isa & (kNative | kNativeOnAvx2)) == 0)
    sink.text("note.emulated",
              "oneDNN computes in float because this processor has no bfloat16 instructions");
}

Attributes strict_attributes() {
  const Api& api = Api::instance();
  dnnl_primitive_attr_t made = nullptr;
  api.check(api.primitive_attr_create_f(&made), "creating attributes");
  Attributes attributes(made);
  api.check(api.primitive_attr_set_scratchpad_mode_f(made, dnnl_scratchpad_mode_user),
            "selecting a scratchpad of the caller");
  api.check(api.primitive_attr_set_fpmath_mode_f(made, dnnl_fpmath_mode_strict),
            "forbidding lower precisions");
  return attributes;
}

}  // namespace deepbench::cpu::onednn
