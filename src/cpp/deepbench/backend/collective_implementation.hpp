// Runs collectives through one library: the checks, the sizes and the order of the steps that all
// libraries and backends share. Header-only, for backends: a backend derives its own class once and
// defines how it allocates; each of its libraries derives from that class.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/collective_operands.hpp"
#include "deepbench/backend/typed_plan.hpp"

namespace deepbench::plugin {

// Throws unsupported if the ranks do not divide the elements into equal blocks.
inline void require_equal_blocks(const Collective& collective, int ranks) {
  const int64_t rest = collective.elements % ranks;
  if (!collective.has_blocks() || rest == 0) return;
  const int64_t next = collective.elements - rest + ranks;
  unsupported(std::string(name_of(collective.kind)) + " needs a number of elements that its " +
              std::to_string(ranks) + " ranks divide, such as elements=" + std::to_string(next) +
              " instead of " + std::to_string(collective.elements));
}

// `RankMemory` is that of CollectiveOperands, and `Call` is the backend's class of calls.
template <class RankMemory, class Call>
class CollectiveImplementation : public Implementation {
 public:
  using Operands = CollectiveOperands<RankMemory>;

  explicit CollectiveImplementation(std::string name) : name_(std::move(name)) {}

  std::unique_ptr<Plan> plan(const Problem& problem, const Options& options) final {
    return std::make_unique<AlgorithmPlan>(*this, collective_problem(problem), options, "");
  }

 protected:
  // ---- for libraries ----

  // The library's name and version, for rows.
  virtual std::string versioned_name() { return name_ + " " + library().version; }
  // The library's algorithms for the problem, its default first.
  virtual std::vector<std::string> algorithms(const Collective& collective) = 0;
  // Throws unsupported if the library or the algorithm ("" for the default) cannot run the problem.
  virtual void require_supported(const Collective& collective, const Participants& participants,
                                 const std::string& algorithm) {
    (void)collective, (void)participants, (void)algorithm;
  }
  // The workspace of an algorithm for each rank, in addition to the operands.
  virtual uint64_t workspace_bytes(const Collective& collective, const std::string& algorithm) {
    (void)collective, (void)algorithm;
    return 0;
  }
  // All ranks call this before selection tries algorithms. It performs slow initialization that a
  // process needs once. Otherwise the first algorithm that needs it would use up the time of the
  // others.
  virtual void before_selection() {}
  // Called on all ranks alike when the operands are allocated. The ranks may exchange data.
  virtual std::unique_ptr<Call> make_call(Operands& operands, const std::string& algorithm) = 0;

  // ---- for backends ----

  // Throws unsupported if the number of ranks does not suit the library.
  virtual Participants find_participants(const Collective& collective, const Options& options) = 0;
  // Throws unsupported if no library of the backend can run the problem.
  virtual void require_supported_by_backend(const Collective& collective,
                                            const Participants& participants,
                                            const Options& options) {
    (void)collective, (void)participants, (void)options;
  }
  virtual CopyPlan copies_for(const Collective& collective, int ranks, const Options& options) = 0;
  // How many ranks allocate in the memory of one device.
  virtual uint64_t ranks_sharing_memory() { return 1; }
  // Called on all ranks. Throws if the operands cannot be allocated.
  virtual void before_allocating(const Participants& participants, uint64_t bytes) = 0;
  // Calls the library's make_call() last, as PreparedKernel requires.
  virtual std::unique_ptr<Kernel> make_kernel(std::unique_ptr<Operands> operands,
                                              const CopyPlan& copies,
                                              const std::string& algorithm) = 0;

 private:
  // The implementation lives as long as the process.
  class AlgorithmPlan final : public Plan {
   public:
    AlgorithmPlan(CollectiveImplementation& library, const Collective& collective,
                  const Options& options, const std::string& candidate)
        : library_(library), collective_(collective), options_(options) {
      require_precision_of_ranks(name_of(collective.kind), collective.precision.name);
      participants_ = library_.find_participants(collective, options);
      require_equal_blocks(collective, participants_.ranks);
      library_.require_supported_by_backend(collective, participants_, options);
      library_.require_supported(collective, participants_, candidate);
      const std::vector<std::string> known = library_.algorithms(collective);
      algorithm_ = candidate.empty() ? known.front() : candidate;
      require_candidate(library_.name_, known, algorithm_);
      copies_ = library_.copies_for(collective, participants_.ranks, options);
    }

    void describe(Sink& sink) const override {
      describe_plan(library_.versioned_name(), algorithm_, memory_bytes(), workspace_bytes(), sink);
    }

    // Only `--algorithm best` sets a limit; all ranks then call this function, and its time alone
    // is limited. For an unknown name, only rank 0 calls it, to list the candidates.
    std::vector<std::string> candidates(int64_t limit) const override {
      if (limit > 0) library_.before_selection();
      return library_.algorithms(collective_);
    }
    std::unique_ptr<Plan> with_candidate(const std::string& id) const override {
      return std::make_unique<AlgorithmPlan>(library_, collective_, options_, id);
    }

    std::unique_ptr<Kernel> prepare() const override {
      library_.before_allocating(participants_, memory_bytes());
      auto operands = std::make_unique<Operands>(collective_, participants_, copies_,
                                                 parse_inputs(options_.inputs), options_.seed);
      return library_.make_kernel(std::move(operands), copies_, algorithm_);
    }

   private:
    uint64_t workspace_bytes() const { return library_.workspace_bytes(collective_, algorithm_); }
    uint64_t memory_bytes() const {
      const uint64_t operands = Operands::needed_bytes(collective_, participants_.ranks, copies_);
      return saturating_multiply(saturating_add(operands, workspace_bytes()),
                                 library_.ranks_sharing_memory());
    }

    CollectiveImplementation& library_;
    const Collective collective_;
    const Options options_;
    Participants participants_;
    std::string algorithm_;
    CopyPlan copies_;
  };

  const std::string name_;
};

}  // namespace deepbench::plugin
