// Makes one row: supported? does it fit? prepared, verified, measured, held against the ceilings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend.hpp"
#include "deepbench/run/ceilings.hpp"
#include "deepbench/run/choose.hpp"
#include "deepbench/run/fleet.hpp"
#include "deepbench/run/left_out.hpp"
#include "deepbench/run/options.hpp"
#include "deepbench/run/result.hpp"
#include "deepbench/run/trial.hpp"

namespace deepbench {

class RowMaker {
 public:
  // `device` are the facts of describe_device, read for this row. The row's kernel is left in
  // `kept`, so that the row can be written before it is destroyed: a backend that breaks in destroy
  // must not take with it what was measured.
  RowMaker(const Backend& backend, const Attributes& device, const Problem& problem,
           const RunOptions& options, Ceilings& ceilings, std::unique_ptr<Trial>& kept,
           Result& row);

  // Fills the row as far as it comes; throws RowFailure where it ends.
  void make();

 private:
  void require_support() const;
  void refuse_candidate(const std::string& asked) const;
  void require_size() const;
  void require_memory() const;
  void measure(const std::string& candidate);
  void measure_best();
  bool measure_first_right(const std::vector<Faster>& candidates, const Result& own,
                           double own_cost_ns, LeftOut& wrong, std::vector<std::string>& notes);
  bool holds_against_own(const std::string& candidate, double own_cost_ns,
                         std::vector<std::string>& notes);
  void keep_own(const Result& own, std::vector<std::string>& notes);
  void measure_once();
  void measure_energy();
  void measure_calls();
  void note_clocks();
  void read_sensors();
  void make_in_fleet();
  void make_own_part();
  RankFigures own_figures() const;
  void settle(RankFigures mine);
  void note_differing_ways();
  void take(const Trial& trial);
  void take_notes_and_metrics(const Attributes& facts);
  void hold_against_ceilings();
  void remeasure();
  void forget_exceeded();
  bool is_above_bandwidth() const;
  void raise_ceilings();
  void compute_bound();
  MemoryLevel level() const;  // that the row's bytes come from

  const Backend& backend_;
  const Attributes& device_;
  const Problem& problem_;
  const RunOptions& options_;
  Ceilings& ceilings_;
  std::unique_ptr<Trial>& kept_;
  Result& row_;
  MeasureOptions how_;
  std::vector<std::string> standing_notes_;  // on what was asked, on sensors: no kernel's
};

}  // namespace deepbench
