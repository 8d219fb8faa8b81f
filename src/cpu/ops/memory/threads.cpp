// Moves memory with the backend's worker threads. The results are the ceilings of memory-bound
// work, for main memory and every cache level. Each worker moves a contiguous part. Workers
// synchronize at the start and end of a batch and not between its calls.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/host_projection.hpp"
#include "deepbench/backend/memory_checks.hpp"
#include "deepbench/backend/typed_plan.hpp"
#include "deepbench/ops/memory/memory.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "operand.hpp"
#include "ops/memory/traffic.hpp"
#include "timing.hpp"
#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kLineWords = kLineBytes / 4;
constexpr uint64_t kGrainWords = 1 << 15;
constexpr uint64_t kNontemporalFromBytes = uint64_t{1} << 20;
constexpr const char* kPlain = "plain";
constexpr const char* kNontemporal = "nontemporal";
constexpr auto kPoison = static_cast<uint32_t>(DEEPBENCH_POISON_INTEGER);

bool has_source(const Memory& memory) { return memory.kind != MemoryKind::kWrite; }
bool has_destination(const Memory& memory) { return memory.kind != MemoryKind::kRead; }

uint64_t needed_bytes(const Memory& memory, const CopyPlan& plan) {
  const uint64_t one = Copies::needed_bytes(uint64_t(memory.bytes), plan.copies);
  const uint64_t both = has_source(memory) && has_destination(memory) ? 2 : 1;
  const uint64_t spare = memory.kind == MemoryKind::kExchange ? uint64_t(memory.bytes) : 0;
  return saturating_add(saturating_multiply(one, both), saturating_add(plan.flush_bytes, spare));
}

class MemoryKernel final : public plugin::Kernel {
 public:
  MemoryKernel(const Memory& memory, const CopyPlan& plan, bool nontemporal,
               const plugin::Options& options)
      : memory_(memory),
        plan_(plan),
        nontemporal_(nontemporal),
        traffic_(nontemporal_ ? nontemporal_traffic() : plain_traffic()),
        pattern_(write_pattern(options.seed)),
        seed_(options.seed),
        inputs_(parse_inputs(options.inputs)),
        workers_(topology().cpus_for_threads(thread_count(options.threads))),
        barrier_(uint32_t(workers_.size())),
        partial_(workers_.size()),
        rotation_(plan.copies) {
    if (has_source(memory)) {
      source_ = Copies(uint64_t(memory.bytes), plan.copies);
      for (uint64_t copy = 0; copy < plan.copies; ++copy) fill_source(copy);
    }
    if (has_destination(memory)) destination_ = Copies(uint64_t(memory.bytes), plan.copies);
    if (memory.kind == MemoryKind::kExchange) spare_ = Copies(uint64_t(memory.bytes), 1);
    if (plan.regime == Regime::kFlush) flusher_.emplace(plan.flush_bytes);
    poison_outputs();
  }

  void describe(plugin::Sink& sink) const override {
    plan_.describe(sink);
    sink.integer("threads", int64_t(workers_.size()));
  }

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override;
  void poison_outputs() override;
  void read_output(uint32_t output, const uint64_t* indices, size_t count, double* values) override;
  void scan_output(uint32_t output, deepbench_scan& scan) override;
  void project_output(uint32_t output, uint64_t rows, uint64_t seed, double* sums) override;

 private:
  // A worker's result of a read. It occupies a whole cache line to avoid false sharing.
  struct alignas(kLineBytes) Partial {
    uint32_t word = 0;
  };

  uint64_t words() const { return uint64_t(memory_.words()); }
  uint64_t first_word_of(size_t worker) const {
    return part_begin(words(), kLineWords, worker, workers_.size());
  }
  uint32_t* source(uint64_t copy) const { return reinterpret_cast<uint32_t*>(source_.at(copy)); }
  uint32_t* destination(uint64_t copy) const {
    return reinterpret_cast<uint32_t*>(destination_.at(copy));
  }
  const uint32_t* output() const {
    return memory_.kind == MemoryKind::kRead ? &read_ : destination(rotation_.last());
  }

  // The worker that reads a part also fills it, because the first access decides on which NUMA node
  // its pages lie.
  void fill_source(uint64_t copy) {
    workers_.run([&](size_t worker) {
      const uint64_t begin = first_word_of(worker), end = first_word_of(worker + 1), seed = seed_;
      uint32_t* const out = source(copy);
      if (inputs_ != Inputs::kUniform)
        return std::fill(out + begin, out + end, inputs_ == Inputs::kOnes ? 1u : 0u);
      for (uint64_t i = begin; i < end; ++i) out[i] = memory_word(seed, i);
    });
  }

  void run_part(size_t worker, uint64_t copy) {
    const uint64_t begin = first_word_of(worker), count = first_word_of(worker + 1) - begin;
    switch (memory_.kind) {
      case MemoryKind::kRead:
        partial_[worker].word = traffic_.read(source(copy) + begin, count);
        return;
      case MemoryKind::kWrite:
        return traffic_.write(destination(copy) + begin, count, pattern_);
      case MemoryKind::kExchange:
        return exchange(begin, count, copy);
      default:
        return traffic_.copy(destination(copy) + begin, source(copy) + begin, count);
    }
  }

  // Successive states alternate between the spare buffer and the destination.
  void exchange(uint64_t begin, uint64_t count, uint64_t copy) {
    auto* const spare = reinterpret_cast<uint32_t*>(spare_.at(0));
    const uint32_t* from = source(copy);
    for (int64_t left = memory_.steps(); left > 0; --left) {
      uint32_t* const to = left % 2 == 1 ? destination(copy) : spare;
      copy_shifted(to, from, begin, count);
      barrier_.wait();
      from = to;
    }
  }

  // Copies words from places that are a shift further on, around the end of the buffer.
  void copy_shifted(uint32_t* to, const uint32_t* from, uint64_t begin, uint64_t count) const {
    const uint64_t first = (begin + uint64_t(memory_.exchange_shift())) % words();
    const uint64_t until_end = std::min(count, words() - first);
    std::memcpy(to + begin, from + first, until_end * sizeof(uint32_t));
    std::memcpy(to + begin + until_end, from, (count - until_end) * sizeof(uint32_t));
  }

  double run_stream(size_t worker, uint64_t count);
  double run_isolated(size_t worker, uint64_t count);

  const Memory memory_;
  const CopyPlan plan_;
  const bool nontemporal_;
  const Traffic& traffic_;
  const uint32_t pattern_;
  const uint64_t seed_;
  const Inputs inputs_;
  WorkerPool workers_;
  Barrier barrier_;
  std::vector<Partial> partial_;
  Copies source_, destination_, spare_;
  std::optional<CacheFlusher> flusher_;
  Rotation rotation_;
  uint32_t read_ = kPoison;
};

// Both functions return the time between the two barriers, as measured by this worker.
double MemoryKernel::run_stream(size_t worker, uint64_t count) {
  barrier_.wait();
  const Clock::time_point begin = Clock::now();
  for (uint64_t call = 1; call <= count; ++call) run_part(worker, rotation_.copy_after_calls(call));
  barrier_.wait();
  return elapsed_ns(begin, Clock::now());
}

double MemoryKernel::run_isolated(size_t worker, uint64_t count) {
  double total_ns = 0;
  for (uint64_t call = 1; call <= count; ++call) {
    if (flusher_) flusher_->flush_part(worker, workers_.size());
    barrier_.wait();
    const Clock::time_point begin = Clock::now();
    run_part(worker, rotation_.copy_after_calls(call));
    barrier_.wait();
    total_ns += elapsed_ns(begin, Clock::now());
  }
  return total_ns;
}

void MemoryKernel::time_batch(const deepbench_request& request, deepbench_batch& batch) {
  const Clock::time_point entered = Clock::now();
  check_request(request);
  const bool isolated = flusher_ || request.launch == DEEPBENCH_LAUNCH_ISOLATED;
  double first_worker_ns = 0;
  {
    const MarkedRegion region(request);
    workers_.run([&](size_t worker) {
      const double elapsed =
          isolated ? run_isolated(worker, request.count) : run_stream(worker, request.count);
      if (worker == 0) first_worker_ns = elapsed;
    });
  }
  rotation_.advance(request.count);
  if (memory_.kind == MemoryKind::kRead) {
    read_ = 0;
    for (const Partial& partial : partial_) read_ ^= partial.word;
  }
  batch.elapsed_ns = first_worker_ns;
  batch.count = request.count;
  batch.copies_touched = rotation_.touched(request.count);
  batch.launch = isolated ? DEEPBENCH_LAUNCH_ISOLATED : DEEPBENCH_LAUNCH_STREAM;
  batch.timer = "steady_clock";
  batch.host_ns = elapsed_ns(entered, Clock::now());
}

void MemoryKernel::poison_outputs() {
  if (memory_.kind == MemoryKind::kRead) {
    read_ = kPoison;
    return;
  }
  for (uint64_t copy = 0; copy < destination_.count(); ++copy) {
    workers_.run([&](size_t worker) {
      std::fill(destination(copy) + first_word_of(worker),
                destination(copy) + first_word_of(worker + 1), kPoison);
    });
  }
}

void MemoryKernel::read_output(uint32_t, const uint64_t* indices, size_t count, double* values) {
  for (size_t i = 0; i < count; ++i) {
    if (indices[i] >= uint64_t(memory_.output_words()))
      plugin::invalid("read_output: word " + std::to_string(indices[i]) + " of " +
                      std::to_string(memory_.output_words()));
    values[i] = output()[indices[i]];
  }
}

// A random word equals the poison once in 2^32. A copied word that equals its source therefore
// counts as written.
void MemoryKernel::scan_output(uint32_t, deepbench_scan& scan) {
  std::atomic<uint64_t> untouched{0};
  const uint32_t* const out = output();
  const uint32_t* const expected =
      memory_.kind == MemoryKind::kCopy ? source(rotation_.last()) : nullptr;
  scan.count = uint64_t(memory_.output_words());
  host_workers().parallel_for(scan.count, kGrainWords, [&](uint64_t begin, uint64_t end, size_t) {
    uint64_t found = 0;
    for (uint64_t i = begin; i < end; ++i)
      found += out[i] == kPoison && !(expected && expected[i] == kPoison);
    untouched += found;
  });
  scan.untouched = untouched;
  scan.non_finite = 0;
}

void MemoryKernel::project_output(uint32_t, uint64_t rows, uint64_t seed, double* sums) {
  const uint32_t* const out = output();
  const auto add = [&](const plugin::OutputBlock& block, double* into) {
    plugin::add_block(block, rows, seed, into, [&](uint64_t i) { return double(out[i]); });
  };
  plugin::project_blocks(host_workers(), uint64_t(memory_.output_words()), rows, sums, add);
}

class ThreadsMemoryPlan final : public plugin::TypedPlan<ThreadsMemoryPlan, Memory> {
 public:
  static LibraryFacts library() { return {"", "", ""}; }
  static Memory parse(const plugin::Problem& problem) { return memory_problem(problem); }

  ThreadsMemoryPlan(const Memory& memory, const plugin::Options& options,
                    const std::string& candidate)
      : TypedPlan(memory, options),
        method_(candidate.empty() ? kPlain : candidate),
        copies_(plan_copies(uint64_t(memory.traffic()), options)) {
    if (memory.kind == MemoryKind::kHostToDevice || memory.kind == MemoryKind::kDeviceToHost)
      plugin::unsupported(
          "the CPU uses the host's memory, so that there is no transfer to measure; "
          "kind=copy moves memory within it");
    plugin::require_hot_exchange(memory, options);
    plugin::require_candidate("threads", candidates(0), method_);
  }

  void describe(plugin::Sink& sink) const override {
    plugin::describe_plan("threads", method_, needed_bytes(problem_, copies_), 0, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    const bool large = uint64_t(problem_.bytes) >= kNontemporalFromBytes;
    // An exchange is meant to use the caches.
    const bool is_exchange = problem_.kind == MemoryKind::kExchange;
    if (has_destination(problem_) && large && !is_exchange) return {kPlain, kNontemporal};
    return {kPlain};
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory(needed_bytes(problem_, copies_), "the problem");
    return std::make_unique<MemoryKernel>(problem_, copies_, method_ == kNontemporal, options_);
  }

 private:
  const std::string method_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& threads_memory() { return plugin::implementation_of_plan<ThreadsMemoryPlan>(); }

}  // namespace deepbench::cpu
