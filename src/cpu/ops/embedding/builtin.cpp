// Lookups by built-in loops. In the forward pass, each thread computes a contiguous part of the
// output's rows. For the gradient, each thread owns the table rows whose index modulo the number of
// threads is its number, and adds to them in the order of the lookups: frequent rows, which are
// adjacent, thus have different owners, and the result does not depend on the order in which
// threads run.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cgroup_limits.hpp"
#include "copies.hpp"
#include "deepbench/backend/partial_access.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/embedding/operands.hpp"
#include "ops/embedding/row_loops.hpp"
#include "prepared_kernel.hpp"
#include "thread_team.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

// The first lines of a row are requested this many lookups ahead; the processor's own prefetching
// then continues within the row.
constexpr int64_t kLookupsAhead = 8;
constexpr int64_t kLinesAhead = 4;

class EmbeddingCall final : public LibraryCall {
 public:
  EmbeddingCall(const Embedding& embedding, const EmbeddingOperands& operands, int threads)
      : e_(embedding),
        row_bytes_(embedding.dim * size_of(embedding.type())),
        operands_(operands),
        team_(topology().cpus_for_threads(threads)),
        sums_(team_.size(), std::vector<float>(size_t(embedding.dim))) {}

  bool has_thread_team() const override { return true; }
  void begin_batch() override { team_.bind_caller(); }
  int run(uint64_t copy) override {
    const Arrays arrays = {operands_.table(copy), operands_.rows(copy), operands_.indices(copy)};
    team_.run([&](size_t member) {
      if (e_.is_backward) return add_gradients(arrays, int64_t(member));
      const auto begin = int64_t(begin_of(member)), end = int64_t(begin_of(member + 1));
      if (e_.sums) return sum_rows(arrays, begin, end, sums_[member].data());
      copy_rows(arrays, begin, end);
    });
    return 0;
  }

 private:
  struct Arrays {
    std::byte* table;
    std::byte* rows;
    const int32_t* indices;
  };

  uint64_t begin_of(size_t member) const {
    return part_begin(uint64_t(e_.output_rows()), 1, member, team_.size());
  }

  // Prefetches the row of lookup i + kLookupsAhead, unless the lookups end before it.
  void prefetch(const Arrays& arrays, int64_t i, int64_t end) const {
    if (i + kLookupsAhead >= end) return;
    const std::byte* const row = arrays.table + arrays.indices[i + kLookupsAhead] * row_bytes_;
    const int64_t lines = std::min<int64_t>(kLinesAhead, row_bytes_ / int64_t(kLineBytes) + 1);
    for (int64_t line = 0; line < lines; ++line)
      __builtin_prefetch(row + line * int64_t(kLineBytes));
  }

  void copy_rows(const Arrays& arrays, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      prefetch(arrays, i, end);
      std::memcpy(arrays.rows + i * row_bytes_, arrays.table + arrays.indices[i] * row_bytes_,
                  size_t(row_bytes_));
    }
  }

  void sum_rows(const Arrays& arrays, int64_t begin, int64_t end, float* sums) const {
    for (int64_t row = begin; row < end; ++row) {
      std::fill_n(sums, e_.dim, 0.0f);
      for (int64_t i = row * e_.lookups; i < (row + 1) * e_.lookups; ++i) {
        prefetch(arrays, i, end * e_.lookups);
        add_row(sums, arrays.table + arrays.indices[i] * row_bytes_, e_.type(), e_.dim);
      }
      store_row(arrays.rows + row * row_bytes_, sums, e_.type(), e_.dim);
    }
  }

  void add_gradients(const Arrays& arrays, int64_t member) const {
    auto* const gradient = reinterpret_cast<float*>(arrays.table);
    const auto members = int64_t(team_.size());
    for (int64_t row = 0, i = 0; row < e_.output_rows(); ++row)
      for (const int64_t end = i + e_.lookups_per_row(); i < end; ++i)
        if (arrays.indices[i] % members == member)
          add_row(gradient + arrays.indices[i] * e_.dim, arrays.rows + row * row_bytes_, e_.type(),
                  e_.dim);
  }

  const Embedding e_;
  const int64_t row_bytes_;
  const EmbeddingOperands& operands_;
  ThreadTeam team_;
  std::vector<std::vector<float>> sums_;  // one for each thread
};

class BuiltinEmbeddingPlan final : public plugin::TypedPlan<BuiltinEmbeddingPlan, Embedding> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Embedding parse(const plugin::Problem& problem) { return embedding_problem(problem); }

  BuiltinEmbeddingPlan(const Embedding& embedding, const plugin::Options& options,
                       const std::string& candidate)
      : TypedPlan(embedding, options),
        threads_(thread_count(options.threads)),
        copies_(plan_copies(uint64_t(embedding.touched_bytes()),
                            plugin::limit_copies(options, uint64_t(embedding.stored_bytes()),
                                                 uint64_t(read_memory().total_bytes)))) {
    require_supported(embedding);
    if (!candidate.empty()) require_candidate(plugin::kBuiltinLibrary, {kLoop}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(plugin::kBuiltinLibrary), kLoop,
                  memory_bytes(), 0, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLoop}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    auto operands = std::make_unique<EmbeddingOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed);
    auto call = std::make_unique<EmbeddingCall>(problem_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  static void require_supported(const Embedding& embedding) {
    const Precision precision = embedding.precision.precision;
    const bool only_copies = !embedding.sums && !embedding.is_backward;
    if (precision == Precision::kFloat || precision == Precision::kBfloat16) return;
    if (precision == Precision::kHalf && only_copies) return;
    plugin::unsupported("the built-in loop does not " +
                        std::string(only_copies ? "copy" : "add up") + " rows of " +
                        std::string(embedding.precision.name));
  }

  uint64_t memory_bytes() const { return EmbeddingOperands::needed_bytes(problem_, copies_); }

  const int threads_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& builtin_embedding() { return implementation_of_plan<BuiltinEmbeddingPlan>(); }

}  // namespace deepbench::cpu
