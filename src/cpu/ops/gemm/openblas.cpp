// Matrix products through OpenBLAS: cblas_sgemm. Its bfloat16 product gives float results, which
// is another problem.
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
    static Openblas* library = new Openblas();  // never destroyed: its threads outlive us
    return *library;
  }

  const SharedLibrary& library() const { return library_; }
  const std::string& version() const { return version_; }
  const std::string& core() const { return core_; }  // the processor whose kernels it runs
  blas::Sgemm sgemm() const { return sgemm_; }

  // Binds its threads, which are its own and not OpenMP's, one a core, the calling thread on the
  // first. Costs nothing when repeated.
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
  int (*set_affinity_)(int, size_t, cpu_set_t*) = nullptr;  // since 0.3.24
};

void Openblas::bind_functions() {
  const char* (*config)() = nullptr;
  const char* (*core_name)() = nullptr;
  if (!bind(sgemm_, "cblas_sgemm") || !bind(set_threads_, "openblas_set_num_threads") ||
      !bind(config, "openblas_get_config"))
    return library_.reject(library_.path() + " lacks cblas_sgemm or openblas_set_num_threads");
  const std::string text = config();  // "OpenBLAS 0.3.30 DYNAMIC_ARCH ..."
  if (text.find("USE64BITINT") != std::string::npos)
    return library_.reject(library_.path() + " has 64-bit integers; the 32-bit kind is needed");
  const auto words = split(text, ' ');
  if (words.size() > 1) version_ = words[1];
  if (bind(core_name, "openblas_get_corename")) core_ = core_name();
  bind(set_affinity_, "openblas_setaffinity");
}

void Openblas::use_threads(int threads) {
  thread_local int ours = 0;  // what this thread has set
  if (ours == threads) return;
  ours = threads;
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
    sink.text("library", "openblas " + Openblas::instance().version());
    sink.text("algorithm", "cblas_sgemm:" + Openblas::instance().core());
    sink.integer("workspace_bytes", 0);
    sink.text("note.workspace", "OpenBLAS takes its workspace itself");
  }

 private:
  const GemmOperands& operands_;
  const blas::Shape shape_;
  const blas::Sgemm sgemm_ = Openblas::instance().sgemm();
  const int threads_;
};

class OpenblasGemm final : public blas::BlasGemm {
 public:
  LibraryFacts library() override {
    const Openblas& openblas = Openblas::instance();
    return openblas.library().facts(openblas.version());
  }

 protected:
  std::vector<std::string> candidates_of(const Gemm& gemm) override {
    if (gemm.precision.precision == Precision::kBfloat16)
      plugin::unsupported("OpenBLAS' bfloat16 product gives float results, not bfloat16");
    if (gemm.precision.precision != Precision::kFloat)
      plugin::unsupported("OpenBLAS has no matrix product in " + std::string(gemm.precision.name));
    return {"sgemm"};
  }
  GemmStorage storage_of(const Gemm& gemm, const std::string&) override {
    GemmStorage storage;
    storage.gemm = gemm;
    return storage;
  }
  std::unique_ptr<LibraryCall> make_call(GemmOperands& operands, const std::string&,
                                         int threads) override {
    return std::make_unique<OpenblasCall>(operands, threads);
  }
};

}  // namespace

Implementation& openblas_gemm() {
  static auto* implementation = new OpenblasGemm();
  return *implementation;
}

}  // namespace deepbench::cpu
