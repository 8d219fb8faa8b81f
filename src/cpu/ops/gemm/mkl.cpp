// Matrix products through Intel MKL: cblas_sgemm, the same with A packed beforehand, and
// cblas_gemm_s8u8s32. Its half and bfloat16 products give float results, which is another problem.
#include <algorithm>
#include <array>
#include <string>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "kernel.hpp"
#include "ops/gemm/blas.hpp"
#include "ops/gemm/mkl_api.hpp"

namespace deepbench::cpu {
namespace mkl {
namespace {

constexpr const char* kSgemm = "sgemm";
constexpr const char* kPackedSgemm = "sgemm:packed";
constexpr const char* kInt8 = "gemm_s8u8s32";

class Call : public LibraryCall {
 public:
  Call(const GemmOperands& operands, const char* algorithm, int threads)
      : operands_(operands),
        shape_(operands.gemm()),
        api_(Api::instance()),
        algorithm_(algorithm),
        threads_(threads) {}

  void enter() override { api_.use_threads(threads_); }
  void describe(plugin::Sink& sink) const override {
    sink.text("library", "mkl " + api_.version());
    sink.text("algorithm", algorithm_);
    sink.integer("workspace_bytes", 0);
    sink.text("note.workspace", "MKL takes its workspace itself");
  }

 protected:
  const GemmOperands& operands_;
  const blas::Shape shape_;
  Api& api_;

 private:
  const char* algorithm_;
  const int threads_;
};

class SgemmCall final : public Call {
 public:
  SgemmCall(const GemmOperands& operands, int threads) : Call(operands, "cblas_sgemm", threads) {}
  int run(uint64_t copy) override {
    blas::run_sgemm(api_.sgemm, shape_, operands_, copy);
    return 0;
  }
};

class PackedSgemmCall final : public Call {
 public:
  PackedSgemmCall(GemmOperands& operands, int threads)
      : Call(operands, "cblas_sgemm_compute", threads) {
    api_.use_threads(threads);
    pack(operands);
  }

  int run(uint64_t copy) override {
    const blas::Shape& s = shape_;
    api_.sgemm_compute(blas::kColumnMajor, kPacked, s.trans_b, s.m, s.n, s.k,
                       static_cast<const float*>(operands_.a(copy)), s.lda,
                       static_cast<const float*>(operands_.b(copy)), s.ldb, 1.0f,
                       static_cast<float*>(operands_.c(copy)), s.m);
    return 0;
  }

  void describe(plugin::Sink& sink) const override {
    Call::describe(sink);
    sink.text("converted", "a");
    sink.real("conversion_ns", conversion_ns_);
  }

 private:
  static constexpr int kRepeats = 5;

  // The median of several: the first also touches fresh pages.
  void pack(GemmOperands& operands) {
    const std::shared_ptr<const Buffer> plain = operands.plain_a();
    std::array<double, kRepeats> times{};
    for (double& time : times) {
      const Clock::time_point begin = Clock::now();
      api_.sgemm_pack(blas::kColumnMajor, kMatrixA, shape_.trans_a, shape_.m, shape_.n, shape_.k,
                      1.0f, reinterpret_cast<const float*>(plain->data()), shape_.lda,
                      static_cast<float*>(operands.a(0)));
      time = elapsed_ns(begin, Clock::now());
    }
    std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
    conversion_ns_ = times[kRepeats / 2];
    operands.replicate_a();
  }

  double conversion_ns_ = 0;
};

class Int8Call final : public Call {
 public:
  Int8Call(const GemmOperands& operands, int threads)
      : Call(operands, "cblas_gemm_s8u8s32", threads) {}

  int run(uint64_t copy) override {
    constexpr int32_t kNoOffset = 0;
    const blas::Shape& s = shape_;
    api_.gemm_s8u8s32(blas::kColumnMajor, s.trans_a, s.trans_b, kFixedOffset, s.m, s.n, s.k, 1.0f,
                      operands_.a(copy), s.lda, 0, operands_.b(copy), s.ldb, 0, 1.0f,
                      static_cast<int32_t*>(operands_.c(copy)), s.m, &kNoOffset);
    return 0;
  }
};

class MklGemm final : public blas::BlasGemm {
 public:
  LibraryFacts library() override {
    const Api& api = Api::instance();
    if (!api.library().loaded()) return {"", "", api.library().reason()};
    return {api.version(), api.library().path(), ""};
  }

 protected:
  std::vector<std::string> candidates_of(const Gemm& gemm) override {
    switch (gemm.precision.precision) {
      case Precision::kFloat:
        return {kSgemm, kPackedSgemm};
      case Precision::kInt8:
        if (gemm.b_type != DEEPBENCH_U8)
          plugin::unsupported("MKL multiplies signed by unsigned 8-bit integers: use b_type=u8");
        return {kInt8};
      case Precision::kBfloat16:
      case Precision::kHalf:
        plugin::unsupported("MKL's product in " + std::string(gemm.precision.name) +
                            " gives float results, not " + std::string(gemm.precision.name));
      default:
        plugin::unsupported("MKL has no matrix product in " + std::string(gemm.precision.name));
    }
  }

  GemmStorage storage_of(const Gemm& gemm, const std::string& candidate) override {
    GemmStorage storage;
    storage.gemm = gemm;
    storage.a_type = gemm.precision.a;
    if (candidate == kInt8 && !Api::instance().exact_int8()) storage.a_type = DEEPBENCH_S7;
    if (candidate == kPackedSgemm)
      storage.packed_a_bytes =
          Api::instance().sgemm_pack_get_size(kMatrixA, int(gemm.m), int(gemm.n), int(gemm.k));
    return storage;
  }

  std::unique_ptr<LibraryCall> make_call(GemmOperands& operands, const std::string& candidate,
                                         int threads) override {
    if (candidate == kPackedSgemm) return std::make_unique<PackedSgemmCall>(operands, threads);
    if (candidate == kInt8) return std::make_unique<Int8Call>(operands, threads);
    return std::make_unique<SgemmCall>(operands, threads);
  }
};

}  // namespace
}  // namespace mkl

Implementation& mkl_gemm() {
  static auto* implementation = new mkl::MklGemm();
  return *implementation;
}

}  // namespace deepbench::cpu
