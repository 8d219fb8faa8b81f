// The functions of Intel MKL that the backend calls, with deepbench's declarations of them. dlsym
// fills the table from MKL's single dynamic library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/gemm/blas.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu::mkl {

inline constexpr int kPacked = 151, kMatrixA = 161, kFixedOffset = 173;

class Api {
 public:
  static Api& instance();

  const SharedLibrary& library() const { return library_; }
  const std::string& version() const { return version_; }

  void use_threads(int threads);
  // Whether sums of 8-bit products do not saturate. MKL selects its AVX-512 kernels only on Intel's
  // processors and only if MKL_ENABLE_INSTRUCTIONS is unset.
  bool has_exact_int8() const;

  blas::Sgemm sgemm = nullptr;
  size_t (*sgemm_pack_get_size)(int matrix, int m, int n, int k) = nullptr;
  void (*sgemm_pack)(int order, int matrix, int trans, int m, int n, int k, float alpha,
                     const float* from, int ld, float* packed) = nullptr;
  void (*sgemm_compute)(int order, int trans_a, int trans_b, int m, int n, int k, const float* a,
                        int lda, const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  // Column-major: A is signed and B is unsigned.
  void (*gemm_s8u8s32)(int order, int trans_a, int trans_b, int offset_kind, int m, int n, int k,
                       float alpha, const void* a, int lda, int8_t a_offset, const void* b, int ldb,
                       int8_t b_offset, float beta, int32_t* c, int ldc,
                       const int32_t* c_offset) = nullptr;

  // C is in float and A and B are in 16 bits. The pointer is null if this version of MKL lacks the
  // function.
  using GemmToFloat = void (*)(int order, int trans_a, int trans_b, int m, int n, int k,
                               float alpha, const void* a, int lda, const void* b, int ldb,
                               float beta, float* c, int ldc);
  GemmToFloat gemm_bf16bf16f32 = nullptr;
  GemmToFloat gemm_f16f16f32 = nullptr;

 private:
  Api();
  void start();
  bool choose_layers();
  void read_version();

  SharedLibrary library_;
  std::string version_ = "unknown";
  void (*set_threads_)(int) = nullptr;
};

}  // namespace deepbench::cpu::mkl
