// The C functions of oneDNN that the backend calls. dlsym fills the table and oneDNN's header only
// provides declarations, so that the backend also loads on machines without the library.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "shared_library.hpp"

namespace deepbench::cpu::onednn {

#define DEEPBENCH_ONEDNN_FUNCTIONS(X)                   \
  X(version)                                            \
  X(get_effective_cpu_isa)                              \
  X(set_default_fpmath_mode)                            \
  X(engine_create)                                      \
  X(stream_create)                                      \
  X(stream_wait)                                        \
  X(memory_desc_create_with_strides)                    \
  X(memory_desc_create_with_tag)                        \
  X(memory_desc_clone)                                  \
  X(memory_desc_destroy)                                \
  X(memory_desc_equal)                                  \
  X(memory_desc_get_size)                               \
  X(memory_create)                                      \
  X(memory_set_data_handle)                             \
  X(memory_destroy)                                     \
  X(post_ops_create)                                    \
  X(post_ops_append_sum)                                \
  X(post_ops_append_binary)                             \
  X(post_ops_append_eltwise)                            \
  X(post_ops_destroy)                                   \
  X(primitive_attr_create)                              \
  X(primitive_attr_set_scratchpad_mode)                 \
  X(primitive_attr_set_fpmath_mode)                     \
  X(primitive_attr_set_post_ops)                        \
  X(primitive_attr_set_scales_mask)                     \
  X(primitive_attr_set_rnn_data_qparams)                \
  X(primitive_attr_set_rnn_weights_qparams)             \
  X(primitive_attr_destroy)                             \
  X(matmul_primitive_desc_create)                       \
  X(reorder_primitive_desc_create)                      \
  X(memory_desc_query)                                  \
  X(vanilla_rnn_forward_primitive_desc_create)          \
  X(vanilla_rnn_backward_primitive_desc_create)         \
  X(lstm_forward_primitive_desc_create)                 \
  X(lstm_backward_primitive_desc_create)                \
  X(gru_forward_primitive_desc_create)                  \
  X(gru_backward_primitive_desc_create)                 \
  X(lbr_gru_forward_primitive_desc_create)              \
  X(lbr_gru_backward_primitive_desc_create)             \
  X(convolution_forward_primitive_desc_create)          \
  X(convolution_backward_data_primitive_desc_create)    \
  X(convolution_backward_weights_primitive_desc_create) \
  X(softmax_forward_primitive_desc_create)              \
  X(softmax_backward_primitive_desc_create)             \
  X(eltwise_forward_primitive_desc_create)              \
  X(eltwise_backward_primitive_desc_create)             \
  X(binary_primitive_desc_create)                       \
  X(pooling_forward_primitive_desc_create)              \
  X(pooling_backward_primitive_desc_create)             \
  X(lrn_forward_primitive_desc_create)                  \
  X(batch_normalization_forward_primitive_desc_create)  \
  X(batch_normalization_backward_primitive_desc_create) \
  X(layer_normalization_forward_primitive_desc_create)  \
  X(layer_normalization_backward_primitive_desc_create) \
  X(primitive_desc_clone)                               \
  X(primitive_desc_next_impl)                           \
  X(primitive_desc_query)                               \
  X(primitive_desc_query_md)                            \
  X(primitive_desc_destroy)                             \
  X(primitive_create)                                   \
  X(primitive_execute)                                  \
  X(primitive_destroy)                                  \
  X(sgemm)

class Api {
 public:
  static Api& instance();

  const SharedLibrary& library() const { return library_; }
  const std::string& version() const { return version_text_; }
  dnnl_engine_t engine() const { return engine_; }
  dnnl_stream_t stream() const { return stream_; }

  // Sets the number of threads of the next calls from this thread. oneDNN follows OpenMP's setting.
  void use_threads(int threads) const;
  // Calls job(thread, threads) on as many of oneDNN's own threads, whose active waiting would slow
  // down other threads. Without OpenMP in oneDNN, calls it on the calling thread alone.
  void run_on_threads(int threads, const std::function<void(int thread, int threads)>& job) const;
  // The instruction set that oneDNN uses, for example "avx2". ONEDNN_MAX_CPU_ISA can lower it.
  std::string isa_text() const;
  // Whether oneDNN adds 8-bit products directly in 32 bits (VNNI, AMX) and not through 16-bit sums
  // that saturate.
  bool has_exact_int8() const;

  // Throws plugin::Error unless `status` is success. `doing` names the failed step in the message.
  void check(dnnl_status_t status, const char* doing) const;

#define DEEPBENCH_ONEDNN_MEMBER(name) decltype(&::dnnl_##name) name##_f = nullptr;
  DEEPBENCH_ONEDNN_FUNCTIONS(DEEPBENCH_ONEDNN_MEMBER)
#undef DEEPBENCH_ONEDNN_MEMBER

 private:
  Api();
  void bind_functions();
  void start();

  SharedLibrary library_;
  std::string version_text_;
  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  void (*omp_set_num_threads_)(int) = nullptr;
  int (*omp_get_thread_num_)() = nullptr;
  int (*omp_get_num_threads_)() = nullptr;
  void (*start_parallel_region_)(void (*)(void*), void*, unsigned, unsigned) = nullptr;
};

const char* status_text(dnnl_status_t status);

// The deleter of the smart pointers to oneDNN's objects.
struct Destroy {
  void operator()(dnnl_memory_desc_t it) const { Api::instance().memory_desc_destroy_f(it); }
  void operator()(dnnl_memory_t it) const { Api::instance().memory_destroy_f(it); }
  void operator()(dnnl_post_ops_t it) const { Api::instance().post_ops_destroy_f(it); }
  void operator()(dnnl_primitive_attr_t it) const { Api::instance().primitive_attr_destroy_f(it); }
  void operator()(dnnl_primitive_desc_t it) const { Api::instance().primitive_desc_destroy_f(it); }
  void operator()(dnnl_primitive_t it) const { Api::instance().primitive_destroy_f(it); }
};
template <class T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;

using MemoryDesc = Owned<dnnl_memory_desc_t>;
using MemoryObject = Owned<dnnl_memory_t>;
using PostOps = Owned<dnnl_post_ops_t>;
using Attributes = Owned<dnnl_primitive_attr_t>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t>;
using Primitive = Owned<dnnl_primitive_t>;

// Create descriptions and objects from dimensions, strides and pointers.
MemoryDesc plain_matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                        dnnl_data_type_t type);
// Describes `count` matrices of these dimensions and strides, stored without gaps: an array of
// three dimensions, or a matrix if there is only one.
MemoryDesc plain_matrices(int64_t count, int64_t rows, int64_t columns, int64_t row_stride,
                          int64_t column_stride, dnnl_data_type_t type);
MemoryDesc any_matrix(int64_t rows, int64_t columns, dnnl_data_type_t type);
MemoryObject memory_at(const_dnnl_memory_desc_t description, void* data);
Primitive primitive_of(const_dnnl_primitive_desc_t description);
// Copies a description, which shares the implementation, without the list of further ones.
PrimitiveDesc copy_of(const_dnnl_primitive_desc_t description);

}  // namespace deepbench::cpu::onednn
