// Matrix products through Intel MKL: cblas_sgemm, cblas_sgemm with a packed A, cblas_gemm_s8u8s32,
// cblas_gemm_bf16bf16f32 and cblas_gemm_f16f16f32. The last two leave C in float, which differs
// from the definition of half and bfloat16: rows carry a note, and only library=mkl selects them.
#include <algorithm>
#include <array>
#include <string>

#include "deepbench/backend/conversion_facts.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "isa.hpp"
#include "ops/gemm/blas.hpp"
#include "ops/gemm/mkl_api.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {
namespace mkl {
namespace {

constexpr const char* kSgemm = "sgemm";
constexpr const char* kPackedSgemm = "sgemm:packed";
constexpr const char* kInt8 = "gemm_s8u8s32";
constexpr const char* kBfloat16 = "gemm_bf16bf16f32";
constexpr const char* kHalf = "gemm_f16f16f32";

class MklCall : public LibraryCall {
 public:
  MklCall(const GemmOperands& operands, int threads)
      : operands_(operands), shape_(operands.gemm()), api_(Api::instance()), threads_(threads) {}

  void begin_batch() override { api_.use_threads(threads_); }
  void describe(plugin::Sink& sink) const override {
    sink.text("note.workspace", "MKL allocates its workspace itself");
  }

 protected:
  const GemmOperands& operands_;
  const blas::BlasShape shape_;
  Api& api_;

 private:
  const int threads_;
};

class SgemmCall final : public MklCall {
 public:
  SgemmCall(const GemmOperands& operands, int threads) : MklCall(operands, threads) {}
  int run(uint64_t copy) override {
    blas::run_sgemm(api_.sgemm, shape_, operands_, copy);
    return 0;
  }
};

class PackedSgemmCall final : public MklCall {
 public:
  PackedSgemmCall(GemmOperands& operands, int threads)
      : MklCall(operands, threads), packed_operands_(operands) {
    api_.use_threads(threads);
    // The first pass also touches new pages.
    conversion_times_ = plugin::sample_times_ns({kRepeats, kRepeats}, [&] { return pack(); });
    packed_operands_.replicate_a();
  }

  int run(uint64_t copy) override {
    const blas::BlasShape& s = shape_;
    api_.sgemm_compute(blas::kColumnMajor, kPacked, s.trans_b, s.m, s.n, s.k,
                       static_cast<const float*>(operands_.a(copy)), s.lda,
                       static_cast<const float*>(operands_.b(copy)), s.ldb, 1.0f,
                       static_cast<float*>(operands_.c(copy)), s.m);
    return 0;
  }

  void describe(plugin::Sink& sink) const override {
    MklCall::describe(sink);
    plugin::describe_conversion("a", conversion_times_, sink);
  }

  void operands_refilled() override {
    begin_batch();
    pack();
    packed_operands_.replicate_a();
  }

 private:
  static constexpr size_t kRepeats = 5;

  // Returns the time of the conversion.
  double pack() {
    const std::shared_ptr<const Buffer> plain = packed_operands_.plain_a();
    const plugin::HostTimer timer;
    api_.sgemm_pack(blas::kColumnMajor, kMatrixA, shape_.trans_a, shape_.m, shape_.n, shape_.k,
                    1.0f, reinterpret_cast<const float*>(plain->data()), shape_.lda,
                    static_cast<float*>(packed_operands_.a(0)));
    return timer.elapsed_ns();
  }

  GemmOperands& packed_operands_;
  std::vector<double> conversion_times_;
};

class Int8Call final : public MklCall {
 public:
  Int8Call(const GemmOperands& operands, int threads) : MklCall(operands, threads) {}

  int run(uint64_t copy) override {
    constexpr int32_t kNoOffset = 0;
    const blas::BlasShape& s = shape_;
    api_.gemm_s8u8s32(blas::kColumnMajor, s.trans_a, s.trans_b, kFixedOffset, s.m, s.n, s.k, 1.0f,
                      operands_.a(copy), s.lda, 0, operands_.b(copy), s.ldb, 0, 1.0f,
                      static_cast<int32_t*>(operands_.c(copy)), s.m, &kNoOffset);
    return 0;
  }
};

class ToFloatCall final : public MklCall {
 public:
  ToFloatCall(const GemmOperands& operands, bool half, int threads)
      : MklCall(operands, threads),
        multiply_(half ? api_.gemm_f16f16f32 : api_.gemm_bf16bf16f32),
        native_(half ? isa().avx512_fp16 : isa().avx512_bf16 || isa().amx_bf16) {}

  int run(uint64_t copy) override {
    const blas::BlasShape& s = shape_;
    multiply_(blas::kColumnMajor, s.trans_a, s.trans_b, s.m, s.n, s.k, 1.0f, operands_.a(copy),
              s.lda, operands_.b(copy), s.ldb, 1.0f, static_cast<float*>(operands_.c(copy)), s.m);
    return 0;
  }

  void describe(plugin::Sink& sink) const override {
    MklCall::describe(sink);
    const std::string precision(operands_.gemm().precision.name);
    sink.text("note.c", "MKL leaves C in float; its bytes are counted as in " + precision);
    if (!native_)
      sink.text("note.emulated",
                "MKL emulates " + precision + " because this processor has no instructions for it");
  }

 private:
  const Api::GemmToFloat multiply_;
  const bool native_;
};

struct MklGemm {
  static LibraryFacts library() {
    const Api& api = Api::instance();
    return api.library().facts(api.version());
  }
  static std::string name() { return "mkl " + Api::instance().version(); }
  static std::string algorithm(const std::string& candidate) {
    return candidate == kPackedSgemm ? "cblas_sgemm_compute" : "cblas_" + candidate;
  }

  static std::vector<std::string> candidates(const Gemm& gemm) {
    if (gemm.batch > 1) {
      if (gemm.precision.precision == Precision::kFloat) return {kSgemm};
      plugin::unsupported("deepbench calls MKL with batches in float only, not in " +
                          std::string(gemm.precision.name));
    }
    switch (gemm.precision.precision) {
      case Precision::kFloat:
        return {kSgemm, kPackedSgemm};
      case Precision::kInt8:
        if (gemm.b_type != DEEPBENCH_U8)
          plugin::unsupported("MKL multiplies signed by unsigned 8-bit integers: use b_type=u8");
        return {kInt8};
      case Precision::kBfloat16:
        require_function(Api::instance().gemm_bf16bf16f32, kBfloat16);
        return {kBfloat16};
      case Precision::kHalf:
        require_function(Api::instance().gemm_f16f16f32, kHalf);
        return {kHalf};
      default:
        plugin::unsupported("MKL has no matrix product in " + std::string(gemm.precision.name));
    }
  }

  // Automatic selection excludes MKL for these products, because its C differs from that of other
  // libraries.
  static void require_explicit_choice(const Gemm& gemm, const plugin::Options& options) {
    if (options.library.empty() && leaves_c_in_float(gemm.precision.precision))
      plugin::unsupported("MKL's product in " + std::string(gemm.precision.name) +
                          " leaves C in float; library=mkl selects it");
  }

  static GemmStorage storage(const Gemm& gemm, const std::string& candidate) {
    GemmStorage storage;
    storage.gemm = gemm;
    storage.a_type = gemm.precision.a;
    storage.float_c = leaves_c_in_float(gemm.precision.precision);
    if (candidate == kInt8 && !Api::instance().has_exact_int8()) storage.a_type = DEEPBENCH_S7;
    if (candidate == kPackedSgemm)
      storage.packed_a_bytes =
          Api::instance().sgemm_pack_get_size(kMatrixA, int(gemm.m), int(gemm.n), int(gemm.k));
    return storage;
  }

  static std::unique_ptr<LibraryCall> make_call(GemmOperands& operands,
                                                const std::string& candidate, int threads) {
    if (candidate == kPackedSgemm) return std::make_unique<PackedSgemmCall>(operands, threads);
    if (candidate == kInt8) return std::make_unique<Int8Call>(operands, threads);
    if (candidate == kBfloat16 || candidate == kHalf)
      return std::make_unique<ToFloatCall>(operands, candidate == kHalf, threads);
    return std::make_unique<SgemmCall>(operands, threads);
  }

 private:
  static bool leaves_c_in_float(Precision precision) {
    return precision == Precision::kBfloat16 || precision == Precision::kHalf;
  }
  static void require_function(Api::GemmToFloat function, const char* name) {
    const Api& api = Api::instance();
    if (!function)
      plugin::unsupported("MKL " + api.version() + " has no cblas_" + name +
                          "; a newer version has it");
  }
};

}  // namespace
}  // namespace mkl

Implementation& mkl_gemm() { return implementation_of_plan<blas::BlasPlan<mkl::MklGemm>>(); }

}  // namespace deepbench::cpu
