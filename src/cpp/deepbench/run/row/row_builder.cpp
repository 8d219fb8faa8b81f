// Making one row.
#include "deepbench/run/row/row_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepbench/core/host_memory.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/row/algorithm_selection.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/format_time.hpp"

namespace deepbench {
namespace {

constexpr double kCandidatesBudget = 2;  // times the default's wall time, for trying others
constexpr double kEnergySpanNs = 2.2e9;  // counters of energy are slow
constexpr size_t kNamedCandidates = 12;  // in a message
constexpr size_t kMaxNotes = 20;         // of a kernel
constexpr size_t kMaxNote = 4000;        // bytes

// Without what was compiled: a second run on the machine has the same time for candidates.
double spent_ns(const Stages& stages) {
  return stages.prepare_ns - stages.compiling_ns + stages.verify_ns + stages.measure_ns;
}

// In the largest unit of which there is a tenth.
std::string amount(double bytes) {
  const char* const units[] = {" GiB", " MiB", " KiB"};
  double size = bytes / (1 << 30);
  size_t unit = 0;
  for (; unit < 2 && size < 0.1; ++unit) size *= 1024;
  return to_text(std::round(size * 100) / 100) + units[unit];
}

// `what` for the call, and for its verification.
void require_available(double call, double verification, double available,
                       const std::string& what) {
  if (available <= 0 || call + verification <= available) return;
  const std::string left = amount(available) + " are available";
  if (verification == 0)
    throw RowFailure(Status::kOutOfMemory, "needs " + amount(call) + " of " + what + "; " + left);
  throw RowFailure(Status::kOutOfMemory,
                   "needs " + (call > 0 ? amount(call) + " of " + what + " and " : "") +
                       amount(verification) + (call > 0 ? "" : " of " + what) +
                       " to be verified; " + left + " (--no-verify measures without)");
}

bool starts_with(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

RowBuilder::RowBuilder(const Backend& backend, const Attributes& device, const Problem& problem,
                       const RunOptions& options, Ceilings& ceilings,
                       std::unique_ptr<Trial>& last_trial, Row& row)
    : backend_(backend),
      device_(device),
      problem_(problem),
      options_(options),
      ceilings_(ceilings),
      last_trial_(last_trial),
      row_(row),
      measure_options_(options.for_measuring(device)),
      request_notes_(row.notes) {}

void RowBuilder::build() {
  if (options_.fleet) return build_in_fleet();
  collective_step(options_.group, "check", [&] {
    require_support();
    require_memory();
  });
  if (options_.check) return;
  if (options_.once) return run_once();
  if (options_.selects_algorithm()) {
    select_and_measure();
  } else {
    measure(options_.named_candidate());
  }
  if (options_.energy && last_trial_) measure_energy();
  if (options_.group && last_trial_) measure_single_calls();
  read_sensors();
  record_clocks();
  if (options_.ceilings) apply_roofline();
}

void RowBuilder::run_once() {
  row_.algorithm.candidate = options_.named_candidate();
  last_trial_ = std::make_unique<Trial>(backend_, problem_, options_, options_.named_candidate(),
                                        row_.stages);
  last_trial_->run_once();
  record_trial(*last_trial_);
}

// Over a span of its own, long enough for the counter: the gaps between batches count as well.
void RowBuilder::measure_energy() {
  try {
    const double before = backend_.energy_joules(int(options_.device));
    const uint64_t calls = last_trial_->run_for(kEnergySpanNs);
    const double spent = backend_.energy_joules(int(options_.device)) - before;
    row_.metrics.push_back({"energy", "J", "lower", spent / double(calls)});
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    row_.notes.push_back(std::string("no energy: ") + failure.what());
  }
}

// Rule 13: the calls one by one, for what batches do not show.
void RowBuilder::measure_single_calls() {
  const std::vector<double> mine = last_trial_->time_single_calls();
  for (Metric& metric : rank_metrics(*options_.group, mine))
    row_.metrics.push_back(std::move(metric));
}

// What was measured is not lost to a sensor that fails.
void RowBuilder::read_sensors() {
  try {
    row_.observed = backend_.observe(int(options_.device));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    request_notes_.push_back(failure.what());
    row_.notes.push_back(failure.what());
  }
}

void RowBuilder::record_clocks() {
  if (row_.samples->clock_mhz > 0) row_.observed.set("sm_clock_mhz", row_.samples->clock_mhz);
  if (row_.samples->rested_ns > 0) row_.observed.set("rest_ns", row_.samples->rested_ns);
  if (row_.samples->power_capped > 0)
    row_.observed.set("power_capped_samples", row_.samples->power_capped);
}

// A candidate's name that the backend does not know is answered with those that it does.
void RowBuilder::reject_unknown_candidate(const std::string& asked) const {
  const auto ids = backend_.candidates(problem_, options_.for_plugin(""));
  if (std::find(ids.begin(), ids.end(), asked) != ids.end()) return;
  std::string known;
  for (size_t i = 0; i < std::min(ids.size(), kNamedCandidates); ++i) known += " " + ids[i];
  if (ids.size() > kNamedCandidates)
    known += " and " + std::to_string(ids.size() - kNamedCandidates) + " more";
  throw RowFailure(Status::kInvalid, "backend " + backend_.name() + " has no candidate '" +
                                         printable(asked) + "' for this problem" +
                                         suggestion(asked, ids) +
                                         (ids.empty() ? "; it has none" : "; it has" + known) +
                                         ", beside default, best and exhaustive");
}

// Where operands fill more than the memory, libraries refuse with reasons that lead elsewhere.
void RowBuilder::require_operands_fit() const {
  const double least = row_.work.bytes / 2;  // no operand counts more than twice
  const double available = device_.real("memory_available_bytes", 0);
  if (available > 0 && least > available)
    throw RowFailure(Status::kOutOfMemory, "its operands alone take " + amount(least) +
                                               " of memory; " + amount(available) +
                                               " are available");
}

void RowBuilder::require_support() const {
  try {
    backend_.supports(problem_, options_.for_plugin(""));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kUnsupported) require_operands_fit();
    throw;
  }
  const std::string asked = options_.named_candidate();
  if (asked.empty()) return;
  try {
    backend_.supports(problem_, options_.for_plugin(asked));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kInvalid) reject_unknown_candidate(asked);
    throw;
  }
}

// Said before the machine swaps or kills us. Verification takes host memory, and the backend's own
// reference the device's, while the kernel holds what it needs.
void RowBuilder::require_memory() const {
  const Operation& operation = problem_.operation();
  const Attributes options = options_.for_plugin(options_.named_candidate());
  const double needed = double(backend_.memory_needed(problem_, options));
  const bool on_host_memory = device_.integer("shares_host_memory") != 0;
  // The ranks of a machine look at the same time, before any of them takes some.
  const int sharing = options_.fleet ? options_.fleet->group().self().local_size : 1;
  const double available = device_.real("memory_available_bytes", device_.real("memory_bytes", 0)) /
                           (on_host_memory ? sharing : 1);
  require_available(needed, 0, available, "memory");
  if (!options_.should_verify(operation)) return;

  double on_device = 0, on_host = operation.verification_bytes(problem_);
  if (operation.reference_source(problem_) == ReferenceSource::kReferenceKernel)
    on_device = double(backend_.memory_needed(problem_, options_.for_reference()));
  if (on_host_memory) on_device += std::exchange(on_host, 0);
  require_available(needed, on_device, available, "memory");
  require_available(0, on_host, host_memory_available() / sharing, "host memory");
}

void RowBuilder::measure(const std::string& candidate) {
  row_.algorithm.candidate = candidate;
  last_trial_.reset();  // its memory first
  last_trial_ = std::make_unique<Trial>(backend_, problem_, options_, candidate, row_.stages);
  try {
    last_trial_->measure(measure_options_);
  } catch (const RowFailure&) {
    record_trial(*last_trial_);
    throw;
  }
  record_trial(*last_trial_);
}

// The library's default first, in full; then the others; then the winner afresh. A winner whose
// result is wrong is no winner, and what it outran is looked at again.
void RowBuilder::select_and_measure() {
  measure("");
  const Row default_row = row_;
  const double default_ns = spent_ns(default_row.stages);
  const double default_cost_ns =
      cost_with_conversion_ns(default_row.median_ns(), last_trial_->facts(), options_);
  std::vector<std::string> notes;
  std::string default_id;
  SkippedCandidates incorrect("left out");
  int64_t tried = 1;
  for (bool found = false, more = true; !found && more;) {
    double budget_ns = 0;
    if (options_.algorithm == "best") {
      budget_ns =
          value_of_rank_zero(options_.group, "budget",
                             kCandidatesBudget * default_ns - (spent_ns(row_.stages) - default_ns));
      if (budget_ns <= 0) break;
    }
    const AlgorithmSelection selection =
        select_algorithm(backend_, problem_, options_, measure_options_.min_span_ns, budget_ns,
                         incorrect.ids(), row_.stages);
    if (incorrect.ids().empty()) {
      tried = std::max(tried, selection.tried);
      notes = selection.notes;
      default_id = selection.default_id;
    }
    const size_t incorrect_before = incorrect.ids().size();
    found = measure_first_correct(selection.improvements, default_row, default_cost_ns, incorrect,
                                  notes);
    more = incorrect.ids().size() > incorrect_before;
  }
  incorrect.add_notes_to(notes);
  row_.algorithm.candidates = tried;
  row_.algorithm.default_ns = default_row.median_ns();
  row_.algorithm.default_name = default_row.algorithm.name;
  row_.algorithm.default_candidate = default_id;
  row_.notes.insert(row_.notes.end(), notes.begin(), notes.end());
}

// Measures the first candidate that passes; where none does, the row keeps the library's own.
bool RowBuilder::measure_first_correct(const std::vector<Improvement>& candidates,
                                       const Row& default_row, double default_cost_ns,
                                       SkippedCandidates& incorrect,
                                       std::vector<std::string>& notes) {
  for (const auto& [candidate, gain] : candidates) {
    try {
      measure(candidate);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      incorrect.add(candidate, failure.what());
      continue;
    }
    row_.algorithm.gain = gain;
    if (!confirm_against_default(candidate, default_cost_ns, notes))
      keep_default(default_row, notes);
    return true;
  }
  if (!candidates.empty()) keep_default(default_row, notes);
  return false;
}

// Faster in turns, and slower where each was measured in full: the machine changed in between, and
// what is slower is not called the best.
bool RowBuilder::confirm_against_default(const std::string& candidate, double default_cost_ns,
                                         std::vector<std::string>& notes) {
  const double ns =
      value_of_rank_zero(options_.group, "confirm against default",
                         cost_with_conversion_ns(row_.median_ns(), last_trial_->facts(), options_));
  const double default_ns =
      value_of_rank_zero(options_.group, "confirm against default", default_cost_ns);
  if (ns <= default_ns) return true;
  notes.push_back("candidate " + candidate + " was faster in turns, but took " +
                  format_time(ns, default_ns) + " against " + format_time(default_ns, default_ns) +
                  " where each was measured in full: the library's default is kept");
  return false;
}

// What is measured next is the default's: where it cannot be prepared again, the row does
// without.
void RowBuilder::keep_default(const Row& default_row, std::vector<std::string>& notes) {
  const Stages spent = row_.stages;
  row_ = default_row;
  row_.stages = spent;
  if (!options_.energy && !options_.group) return;
  last_trial_.reset();
  try {
    last_trial_ = std::make_unique<Trial>(backend_, problem_, options_, "", row_.stages);
    last_trial_->resume(*default_row.samples);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    last_trial_.reset();
    notes.push_back(std::string("without energy or single calls: ") + failure.what());
  }
}

void RowBuilder::record_trial(const Trial& trial) {
  const Attributes& facts = trial.facts();
  row_.library = facts.text("library");
  row_.algorithm.name = facts.text("algorithm");
  row_.algorithm.workspace_bytes = facts.integer("workspace_bytes");
  row_.algorithm.planning_ns = facts.real("planning_ns");
  row_.regime.cold = facts.text("cold");
  row_.regime.copies = facts.integer("copies", 1);
  row_.regime.threads = facts.integer("threads");
  row_.regime.ranks = facts.integer("ranks");
  row_.padding_rule = facts.text("padding_rule");
  row_.verification = trial.verification();
  row_.samples = trial.samples();
  if (row_.samples && row_.median_ns() < kMinSteadyCallNs) row_.regime.power = "burst";
  row_.conversion.reset();
  const std::string converted = facts.text("converted");
  if (!converted.empty())
    row_.conversion = {converted, facts.real("conversion_ns"), options_.is_constant(converted)};
  row_.metrics.clear();
  row_.notes = request_notes_;
  row_.padded = Attributes();
  record_notes_and_metrics(facts);
}

void RowBuilder::record_notes_and_metrics(const Attributes& facts) {
  const bool counts = row_.samples && row_.verification.state != Verification::State::kFailed;
  size_t notes = 0;
  for (const auto& [name, value] : facts.items()) {
    if (starts_with(name, "note.") && ++notes <= kMaxNotes)
      row_.notes.push_back(one_line(to_text(value), kMaxNote));
    if (starts_with(name, "padded.")) row_.padded.set(name.substr(7), value);
    if (counts && starts_with(name, "metric.") && !facts.text(name + ".unit").empty()) {
      const std::string how = facts.text(name + ".unit");
      const size_t gap = std::min(how.rfind(' '), how.size());
      const std::string better = gap < how.size() ? how.substr(gap + 1) : "lower";
      row_.metrics.push_back({name.substr(7), how.substr(0, gap), better, facts.real(name)});
    }
  }
  if (notes > kMaxNotes)
    row_.notes.push_back(std::to_string(notes - kMaxNotes) + " more notes of the backend");
  if (counts) {
    for (Metric& metric : problem_.operation().derived_metrics(problem_, facts, row_.median_ns()))
      row_.metrics.push_back(std::move(metric));
  }
  if (row_.conversion && counts) {
    const double call_ns = row_.median_ns();
    row_.metrics.push_back({"call", "ns", "lower", call_ns});
    row_.metrics.push_back({"conversion", "ns", "lower", row_.conversion->ns});
    row_.metrics.push_back({"call_and_conversion", "ns", "lower", call_ns + row_.conversion->ns});
  }
}

}  // namespace deepbench
