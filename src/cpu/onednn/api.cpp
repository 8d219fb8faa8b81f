// Loads oneDNN and wraps its C objects.
#include "onednn/api.hpp"

#include <cstdio>

#include "deepbench/plugin.hpp"

namespace deepbench::cpu::onednn {

Api& Api::instance() {
  static Api* api = new Api();  // Never destroyed, because OpenMP's threads outlive static objects.
  return *api;
}

Api::Api()
    : library_(
          {"libdnnl.so.3", "libdnnl.so.3.6"},  // Debian packages the library under the second name.
          "install deepbench where the wheel onednn-devel-cpu-gomp exists (Linux x86-64; Debian "
          "13: apt install libdnnl3.6), or name the folder of libdnnl.so.3 in "
          "DEEPBENCH_CPU_LIBRARY_PATH") {
  if (library_.loaded()) bind_functions();
  if (library_.loaded()) start();
}

void Api::bind_functions() {
#define DEEPBENCH_ONEDNN_BIND(name)                                                        \
  if (!library_.bind(name##_f, "dnnl_" #name)) {                                           \
    library_.reject(library_.path() + " has no dnnl_" #name "; deepbench needs oneDNN 3"); \
    return;                                                                                \
  }
  DEEPBENCH_ONEDNN_FUNCTIONS(DEEPBENCH_ONEDNN_BIND)
#undef DEEPBENCH_ONEDNN_BIND
  // dlsym finds them among the dependencies of oneDNN. The last one is the function to which GCC
  // compiles a parallel region; the runtimes of LLVM and Intel provide it too.
  library_.bind(omp_set_num_threads_, "omp_set_num_threads");
  library_.bind(omp_get_thread_num_, "omp_get_thread_num");
  library_.bind(omp_get_num_threads_, "omp_get_num_threads");
  library_.bind(start_parallel_region_, "GOMP_parallel");
}

void Api::start() {
  const dnnl_version_t* version = version_f();
  version_text_ = std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                  std::to_string(version->patch);
  if (version->major != DNNL_VERSION_MAJOR)
    return library_.reject(library_.path() + " is oneDNN " + version_text_ +
                           "; deepbench needs version " + std::to_string(DNNL_VERSION_MAJOR));
  set_default_fpmath_mode_f(dnnl_fpmath_mode_strict);  // dnnl_sgemm takes no attributes.
  dnnl_status_t status = engine_create_f(&engine_, dnnl_cpu, 0);
  if (status == dnnl_success)
    status = stream_create_f(&stream_, engine_, dnnl_stream_default_flags);
  if (status != dnnl_success)
    library_.reject(std::string("oneDNN cannot create a CPU engine: ") + status_text(status));
}

void Api::use_threads(int threads) const {
  if (omp_set_num_threads_) omp_set_num_threads_(threads);
}

void Api::run_on_threads(int threads,
                         const std::function<void(int thread, int threads)>& job) const {
  if (!start_parallel_region_ || !omp_get_thread_num_ || !omp_get_num_threads_) return job(0, 1);
  const auto body = [&] { job(omp_get_thread_num_(), omp_get_num_threads_()); };
  const auto call = [](void* closure) { (*static_cast<decltype(body)*>(closure))(); };
  start_parallel_region_(call, const_cast<void*>(static_cast<const void*>(&body)),
                         unsigned(threads), 0);
}

std::string Api::isa_text() const {
  struct Name {
    dnnl_cpu_isa_t isa;
    const char* name;
  };
  static constexpr Name kNames[] = {{dnnl_cpu_isa_sse41, "sse41"},
                                    {dnnl_cpu_isa_avx, "avx"},
                                    {dnnl_cpu_isa_avx2, "avx2"},
                                    {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
                                    {dnnl_cpu_isa_avx2_vnni_2, "avx2_vnni_2"},
                                    {dnnl_cpu_isa_avx512_core, "avx512_core"},
                                    {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
                                    {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
                                    {dnnl_cpu_isa_avx512_core_fp16, "avx512_core_fp16"},
                                    {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
                                    {dnnl_cpu_isa_avx512_core_amx_fp16, "avx512_core_amx_fp16"}};
  const dnnl_cpu_isa_t effective = get_effective_cpu_isa_f();
  for (const Name& name : kNames)
    if (name.isa == effective) return name.name;
  char text[32];
  std::snprintf(text, sizeof text, "isa 0x%x", unsigned(effective));
  return text;
}

bool Api::has_exact_int8() const {
  // An instruction set is a set of bits. The check excludes AVX2's VNNI, because oneDNN selects
  // kernels for plain AVX2 on such processors for some shapes.
  constexpr unsigned kVnni = dnnl_cpu_isa_avx512_core_vnni;
  return (unsigned(get_effective_cpu_isa_f()) & kVnni) == kVnni;
}

void Api::check(dnnl_status_t status, const char* doing) const {
  if (status == dnnl_success) return;
  const std::string text = "oneDNN " + version_text_ + ", " + doing + ": " + status_text(status);
  switch (status) {
    case dnnl_unimplemented:
      plugin::unsupported(text);
    case dnnl_invalid_arguments:
      // The core has validated the problem, so this is a limit of oneDNN.
      plugin::unsupported(text);
    case dnnl_out_of_memory:
      throw plugin::Error(DEEPBENCH_OUT_OF_MEMORY, text);
    default:
      plugin::failed(text);
  }
}

const char* status_text(dnnl_status_t status) {
  switch (status) {
    case dnnl_success:
      return "success";
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "unimplemented";
    case dnnl_last_impl_reached:
      return "no further implementation";
    case dnnl_runtime_error:
      return "run-time error";
    case dnnl_not_required:
      return "not required";
    default:
      return "unknown status";
  }
}

MemoryDesc plain_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                        dnnl_data_type_t type) {
  const Api& api = Api::instance();
  const dnnl_dims_t dimensions = {rows, columns}, strides = {row_stride, column_stride};
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, 2, dimensions, type, strides),
            "describing a matrix");
  return MemoryDesc(made);
}

MemoryDesc plain_matrices(int64_t count, int64_t rows, int64_t columns, int64_t row_stride,
                          int64_t column_stride, dnnl_data_type_t type) {
  if (count == 1) return plain_matrix(rows, columns, row_stride, column_stride, type);
  const Api& api = Api::instance();
  const dnnl_dims_t dimensions = {count, rows, columns},
                    strides = {rows * columns, row_stride, column_stride};
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, 3, dimensions, type, strides),
            "describing the matrices of a batch");
  return MemoryDesc(made);
}

MemoryDesc any_matrix(int64_t rows, int64_t columns, dnnl_data_type_t type) {
  const Api& api = Api::instance();
  const dnnl_dims_t dimensions = {rows, columns};
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_tag_f(&made, 2, dimensions, type, dnnl_format_tag_any),
            "describing a matrix");
  return MemoryDesc(made);
}

MemoryObject memory_at(const_dnnl_memory_desc_t description, void* data) {
  const Api& api = Api::instance();
  dnnl_memory_t made = nullptr;
  api.check(api.memory_create_f(&made, description, api.engine(), data), "wrapping an operand");
  return MemoryObject(made);
}

PrimitiveDesc copy_of(const_dnnl_primitive_desc_t description) {
  const Api& api = Api::instance();
  dnnl_primitive_desc_t made = nullptr;
  api.check(api.primitive_desc_clone_f(&made, description), "copying a plan");
  return PrimitiveDesc(made);
}

Primitive primitive_of(const_dnnl_primitive_desc_t description) {
  const Api& api = Api::instance();
  dnnl_primitive_t made = nullptr;
  api.check(api.primitive_create_f(&made, description), "creating a primitive");
  return Primitive(made);
}

}  // namespace deepbench::cpu::onednn
