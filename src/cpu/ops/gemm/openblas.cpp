// Matrix products through OpenBLAS's cblas_sgemm. OpenBLAS's bfloat16 product is not offered: its
// results are float, which makes it a different problem.
#include <sched.h>

#include <string>

#include "affinity.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "ops/gemm/blas.hpp"
#include "prepared_kernel.hpp"
#include "shared_library.hpp"
#include "system_files.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

class Openblas {
 public:
  static Openblas& instance() {
    // Never destroyed, because OpenBLAS's threads outlive static objects.
    static Openblas* library = new Openblas();
    return *library;
  }

  const SharedLibrary& library() const { return library_; }
  const std::string& version() const { return version_; }
  // The processor type whose kernels OpenBLAS runs.
  const std::string& core() const { return core_; }
  blas::Sgemm sgemm() const { return sgemm_; }

  // Sets the number of threads and binds each to a core, with the calling thread on the first.
  // OpenBLAS uses its thread pool and not OpenMP's, so the OpenMP settings do not apply. A repeated
  // call costs nothing.
  void use_threads(int threads);

 private:
  Openblas()
      : library_(
            {"libscipy_openblas.so", "libopenblas.so.0", "libopenblas.so"},
            "pip install scipy-openblas32 (Debian, Ubuntu: apt install libopenblas0-pthread), or "
            "name the folder of libopenblas.so.0 in DEEPBENCH_CPU_LIBRARY_PATH") {
    if (library_.loaded()) bind_functions();
  }

  // The wheel prefixes most of its symbols; a system's library does not.
  template <class Function>
  bool bind(Function& function, const std::string& name) const {
    return library_.bind(function, "scipy_" + name) || library_.bind(function, name);
  }
  void bind_functions();

  SharedLibrary library_;
  std::string version_ = "unknown", core_ = "unknown";
  blas::Sgemm sgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  int (*set_affinity_)(int, size_t, cpu_set_t*) = nullptr;  // Available since OpenBLAS 0.3.24.
};

void Openblas::bind_functions() {
  const char* (*config)() = nullptr;
  const char* (*core_name)() = nullptr;
  if (!bind(sgemm_, "cblas_sgemm") || !bind(set_threads_, "openblas_set_num_threads") ||
      !bind(config, "openblas_get_config"))
    return library_.reject(library_.path() + " lacks cblas_sgemm or openblas_set_num_threads");
  const std::string text = config();  // "OpenBLAS 0.3.30 DYNAMIC_ARCH ..."
  if (text.find("USE64BITINT") != std::string::npos)
    return library_.reject(library_.path() +
                           " uses 64-bit integers; deepbench needs the build with 32-bit integers");
  const auto words = split(text, ' ');
  if (words.size() > 1) version_ = words[1];
  if (bind(core_name, "openblas_get_corename")) core_ = core_name();
  bind(set_affinity_, "openblas_setaffinity");
}

void Openblas::use_threads(int threads) {
  thread_local int current = 0;  // The value that this thread has set.
  if (current == threads) return;
  current = threads;
  set_threads_(threads);
  const auto cpus = topology().cpus_for_threads(threads);
  bind_this_thread(cpus.front());
  for (int worker = 0; set_affinity_ && worker + 1 < threads; ++worker) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (const int cpu = cpus[size_t(worker) + 1]; cpu < CPU_SETSIZE) {
      CPU_SET(size_t(cpu), &mask);
      set_affinity_(worker, sizeof mask, &mask);
    }
  }
}

class OpenblasCall final : public LibraryCall {
 public:
  OpenblasCall(const GemmOperands& operands, int threads)
      : operands_(operands), shape_(operands.gemm()), threads_(threads) {}

  void begin_batch() override { Openblas::instance().use_threads(threads_); }
  int run(uint64_t copy) override {
    blas::run_sgemm(sgemm_, shape_, operands_, copy);
    return 0;
  }
  void describe(plugin::Sink& sink) const override {
    sink.text("note.workspace", "OpenBLAS allocates its workspace itself");
  }

 private:
  const GemmOperands& operands_;
  const blas::BlasShape shape_;
  const blas::Sgemm sgemm_ = Openblas::instance().sgemm();
  const int threads_;
};

struct OpenblasGemm {
  static LibraryFacts library() {
    const Openblas& openblas = Openblas::instance();
    return openblas.library().facts(openblas.version());
  }
  static std::string name() { return "openblas " + Openblas::instance().version(); }
  static std::string algorithm(const std::string&) {
    return "cblas_sgemm:" + Openblas::instance().core();
  }
  static std::vector<std::string> candidates(const Gemm& gemm) {
    if (gemm.precision.precision == Precision::kBfloat16)
      plugin::unsupported("OpenBLAS's bfloat16 product returns float and not bfloat16");
    if (gemm.precision.precision != Precision::kFloat)
      plugin::unsupported("OpenBLAS has no matrix product in " + std::string(gemm.precision.name));
    return {"sgemm"};
  }
  static void require_explicit_choice(const Gemm&, const plugin::Options&) {}
  static GemmStorage storage(const Gemm& gemm, const std::string&) {
    GemmStorage storage;
    storage.gemm = gemm;
    return storage;
  }
  static std::unique_ptr<LibraryCall> make_call(GemmOperands& operands, const std::string&,
                                                int threads) {
    return std::make_unique<OpenblasCall>(operands, threads);
  }
};

}  // namespace

Implementation& openblas_gemm() { return implementation_of_plan<blas::BlasPlan<OpenblasGemm>>(); }

}  // namespace deepbench::cpu
