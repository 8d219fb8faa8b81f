// Makes one row: supported? does it fit? prepared, verified, measured, held against the ceilings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/ceilings/ceilings.hpp"
#include "deepbench/run/fleet/fleet_coordinator.hpp"
#include "deepbench/run/row/algorithm_selection.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/skipped_candidates.hpp"
#include "deepbench/run/row/trial.hpp"

namespace deepbench {

class RowBuilder {
 public:
  // `device` are the facts of describe_device, read for this row. The row's kernel is left in
  // `last_trial`, so that the row can be written before it is destroyed: a backend that breaks in
  // destroy must not take with it what was measured.
  RowBuilder(const Backend& backend, const Attributes& device, const Problem& problem,
             const RunOptions& options, Ceilings& ceilings, std::unique_ptr<Trial>& last_trial,
             Row& row);

  // Fills the row as far as it comes; throws RowFailure where it ends.
  void build();

 private:
  void require_support() const;
  void reject_unknown_candidate(const std::string& asked) const;
  void require_operands_fit() const;
  void require_memory() const;
  void measure(const std::string& candidate);
  void select_and_measure();
  bool measure_first_correct(const std::vector<Improvement>& candidates, const Row& default_row,
                             double default_cost_ns, SkippedCandidates& incorrect,
                             std::vector<std::string>& notes);
  bool confirm_against_default(const std::string& candidate, double default_cost_ns,
                               std::vector<std::string>& notes);
  void keep_default(const Row& default_row, std::vector<std::string>& notes);
  void run_once();
  void measure_energy();
  void measure_single_calls();
  void record_clocks();
  void read_sensors();
  void build_in_fleet();
  void build_on_this_rank();
  RankResult rank_result() const;
  void merge_ranks(RankResult mine);
  void note_differing_algorithms();
  void record_trial(const Trial& trial);
  void record_notes_and_metrics(const Attributes& facts);
  void apply_roofline();
  void remeasure();
  void discard_exceeded_ceilings();
  bool is_above_bandwidth() const;
  void raise_ceilings();
  void compute_bound();
  MemoryLevel memory_level() const;  // that the row's bytes come from

  const Backend& backend_;
  const Attributes& device_;
  const Problem& problem_;
  const RunOptions& options_;
  Ceilings& ceilings_;
  std::unique_ptr<Trial>& last_trial_;
  Row& row_;
  MeasureOptions measure_options_;
  std::vector<std::string> request_notes_;  // on what was asked, on sensors: no kernel's
};

}  // namespace deepbench
