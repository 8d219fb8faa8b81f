// Making one row.
#include "deepbench/run/row.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepbench/core/host_memory.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/choose.hpp"
#include "deepbench/run/ranks.hpp"
#include "deepbench/run/time_text.hpp"

namespace deepbench {
namespace {

constexpr double kOthersTime = 2;        // times the own choice's wall time, for trying others
constexpr double kEnergySpanNs = 2.2e9;  // counters of energy are slow
constexpr size_t kNamedCandidates = 12;  // in a message
constexpr size_t kMostNotes = 20;        // of a kernel
constexpr size_t kLongestNote = 4000;    // bytes

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
void require_room(double call, double verification, double available, const std::string& what) {
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

RowMaker::RowMaker(const Backend& backend, const Attributes& device, const Problem& problem,
                   const RunOptions& options, Ceilings& ceilings, std::unique_ptr<Trial>& kept,
                   Result& row)
    : backend_(backend),
      device_(device),
      problem_(problem),
      options_(options),
      ceilings_(ceilings),
      kept_(kept),
      row_(row),
      how_(options.for_measuring(device)),
      standing_notes_(row.notes) {}

void RowMaker::make() {
  if (options_.fleet) return make_in_fleet();
  together(options_.group, "check", [&] {
    require_support();
    require_memory();
  });
  if (options_.check) return;
  if (options_.once) return measure_once();
  if (options_.chooses()) {
    measure_best();
  } else {
    measure(options_.named_candidate());
  }
  if (options_.energy && kept_) measure_energy();
  if (options_.group && kept_) measure_calls();
  read_sensors();
  note_clocks();
  if (options_.ceilings) hold_against_ceilings();
}

void RowMaker::measure_once() {
  row_.algorithm.candidate = options_.named_candidate();
  kept_ = std::make_unique<Trial>(backend_, problem_, options_, options_.named_candidate(),
                                  row_.stages);
  kept_->once();
  take(*kept_);
}

// Over a span of its own, long enough for the counter: the gaps between batches count as well.
void RowMaker::measure_energy() {
  try {
    const double before = backend_.energy_joules(int(options_.device));
    const uint64_t calls = kept_->repeat(kEnergySpanNs);
    const double spent = backend_.energy_joules(int(options_.device)) - before;
    row_.metrics.push_back({"energy", "J", "lower", spent / double(calls)});
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    row_.notes.push_back(std::string("no energy: ") + failure.what());
  }
}

// Rule 13: the calls one by one, for what batches do not show.
void RowMaker::measure_calls() {
  const std::vector<double> mine = kept_->single_calls();
  for (Metric& metric : metrics_of_ranks(*options_.group, mine))
    row_.metrics.push_back(std::move(metric));
}

// What was measured is not lost to a sensor that fails.
void RowMaker::read_sensors() {
  try {
    row_.observed = backend_.observe(int(options_.device));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    standing_notes_.push_back(failure.what());
    row_.notes.push_back(failure.what());
  }
}

void RowMaker::note_clocks() {
  if (row_.samples->clock_mhz > 0) row_.observed.set("sm_clock_mhz", row_.samples->clock_mhz);
  if (row_.samples->rested_ns > 0) row_.observed.set("rest_ns", row_.samples->rested_ns);
  if (row_.samples->power_capped > 0)
    row_.observed.set("power_capped_samples", row_.samples->power_capped);
}

// A candidate's name that the backend does not know is answered with those that it does.
void RowMaker::refuse_candidate(const std::string& asked) const {
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
void RowMaker::require_size() const {
  const double least = row_.work.bytes / 2;  // no operand counts more than twice
  const double available = device_.real("memory_available_bytes", 0);
  if (available > 0 && least > available)
    throw RowFailure(Status::kOutOfMemory, "its operands alone take " + amount(least) +
                                               " of memory; " + amount(available) +
                                               " are available");
}

void RowMaker::require_support() const {
  try {
    backend_.supports(problem_, options_.for_plugin(""));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kUnsupported) require_size();
    throw;
  }
  const std::string asked = options_.named_candidate();
  if (asked.empty()) return;
  try {
    backend_.supports(problem_, options_.for_plugin(asked));
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kInvalid) refuse_candidate(asked);
    throw;
  }
}

// Said before the machine swaps or kills us. Verification takes host memory, and the backend's own
// reference the device's, while the kernel holds what it needs.
void RowMaker::require_memory() const {
  const Operation& operation = problem_.operation();
  const Attributes options = options_.for_plugin(options_.named_candidate());
  const double needed = double(backend_.memory_needed(problem_, options));
  const bool on_host_memory = device_.integer("shares_host_memory") != 0;
  // The ranks of a machine look at the same time, before any of them takes some.
  const int sharing = options_.fleet ? options_.fleet->group().self().local_size : 1;
  const double available = device_.real("memory_available_bytes", device_.real("memory_bytes", 0)) /
                           (on_host_memory ? sharing : 1);
  require_room(needed, 0, available, "memory");
  if (!options_.verifies(operation)) return;

  double on_device = 0, on_host = operation.verification_bytes(problem_);
  if (operation.evidence(problem_) == Evidence::kReference)
    on_device = double(backend_.memory_needed(problem_, options_.for_reference()));
  if (on_host_memory) on_device += std::exchange(on_host, 0);
  require_room(needed, on_device, available, "memory");
  require_room(0, on_host, host_memory_available() / sharing, "host memory");
}

void RowMaker::measure(const std::string& candidate) {
  row_.algorithm.candidate = candidate;
  kept_.reset();  // its memory first
  kept_ = std::make_unique<Trial>(backend_, problem_, options_, candidate, row_.stages);
  try {
    kept_->measure(how_);
  } catch (const RowFailure&) {
    take(*kept_);
    throw;
  }
  take(*kept_);
}

// The library's own choice first, in full; then the others; then the winner afresh. A winner whose
// result is wrong is no winner, and what it outran is looked at again.
void RowMaker::measure_best() {
  measure("");
  const Result own = row_;
  const double own_ns = spent_ns(own.stages);
  const double own_cost_ns = cost_ns(own.median_ns(), kept_->facts(), options_);
  std::vector<std::string> notes;
  std::string own_id;
  LeftOut wrong("left out");
  int64_t tried = 1;
  for (bool found = false, more = true; !found && more;) {
    double budget_ns = 0;
    if (options_.algorithm == "best") {
      budget_ns = of_first_rank(options_.group, "budget",
                                kOthersTime * own_ns - (spent_ns(row_.stages) - own_ns));
      if (budget_ns <= 0) break;
    }
    const Choice choice =
        choose(backend_, problem_, options_, how_.min_span_ns, budget_ns, wrong.ids(), row_.stages);
    if (wrong.ids().empty()) {
      tried = std::max(tried, choice.tried);
      notes = choice.notes;
      own_id = choice.own;
    }
    const size_t wrong_before = wrong.ids().size();
    found = measure_first_right(choice.faster, own, own_cost_ns, wrong, notes);
    more = wrong.ids().size() > wrong_before;
  }
  wrong.add_notes_to(notes);
  row_.algorithm.candidates = tried;
  row_.algorithm.default_ns = own.median_ns();
  row_.algorithm.default_name = own.algorithm.name;
  row_.algorithm.default_candidate = own_id;
  row_.notes.insert(row_.notes.end(), notes.begin(), notes.end());
}

// Measures the first candidate that passes; where none does, the row keeps the library's own.
bool RowMaker::measure_first_right(const std::vector<Faster>& candidates, const Result& own,
                                   double own_cost_ns, LeftOut& wrong,
                                   std::vector<std::string>& notes) {
  for (const auto& [candidate, gain] : candidates) {
    try {
      measure(candidate);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      wrong.add(candidate, failure.what());
      continue;
    }
    row_.algorithm.gain = gain;
    if (!holds_against_own(candidate, own_cost_ns, notes)) keep_own(own, notes);
    return true;
  }
  if (!candidates.empty()) keep_own(own, notes);
  return false;
}

// Faster in turns, and slower where each was measured in full: the machine changed in between, and
// what is slower is not called the best.
bool RowMaker::holds_against_own(const std::string& candidate, double own_cost_ns,
                                 std::vector<std::string>& notes) {
  const double ns = of_first_rank(options_.group, "hold against own",
                                  cost_ns(row_.median_ns(), kept_->facts(), options_));
  const double own_ns = of_first_rank(options_.group, "hold against own", own_cost_ns);
  if (ns <= own_ns) return true;
  notes.push_back("candidate " + candidate + " was faster in turns, but took " +
                  time_text(ns, own_ns) + " against " + time_text(own_ns, own_ns) +
                  " where each was measured in full: the library's own choice is kept");
  return false;
}

// What is measured next is the own choice's: where it cannot be prepared again, the row does
// without.
void RowMaker::keep_own(const Result& own, std::vector<std::string>& notes) {
  const Stages spent = row_.stages;
  row_ = own;
  row_.stages = spent;
  if (!options_.energy && !options_.group) return;
  kept_.reset();
  try {
    kept_ = std::make_unique<Trial>(backend_, problem_, options_, "", row_.stages);
    kept_->resume(*own.samples);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    kept_.reset();
    notes.push_back(std::string("without energy or single calls: ") + failure.what());
  }
}

void RowMaker::take(const Trial& trial) {
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
  if (row_.samples && row_.median_ns() < kLoadedCallNs) row_.regime.power = "burst";
  row_.conversion.reset();
  const std::string converted = facts.text("converted");
  if (!converted.empty())
    row_.conversion = {converted, facts.real("conversion_ns"), options_.is_constant(converted)};
  row_.metrics.clear();
  row_.notes = standing_notes_;
  row_.padded = Attributes();
  take_notes_and_metrics(facts);
}

void RowMaker::take_notes_and_metrics(const Attributes& facts) {
  const bool counts = row_.samples && row_.verification.state != Verification::State::kFailed;
  size_t notes = 0;
  for (const auto& [name, value] : facts.items()) {
    if (starts_with(name, "note.") && ++notes <= kMostNotes)
      row_.notes.push_back(one_line(to_text(value), kLongestNote));
    if (starts_with(name, "padded.")) row_.padded.set(name.substr(7), value);
    if (counts && starts_with(name, "metric.") && !facts.text(name + ".unit").empty()) {
      const std::string how = facts.text(name + ".unit");
      const size_t gap = std::min(how.rfind(' '), how.size());
      const std::string better = gap < how.size() ? how.substr(gap + 1) : "lower";
      row_.metrics.push_back({name.substr(7), how.substr(0, gap), better, facts.real(name)});
    }
  }
  if (notes > kMostNotes)
    row_.notes.push_back(std::to_string(notes - kMostNotes) + " more notes of the backend");
  if (counts) {
    for (Metric& metric : problem_.operation().derived(problem_, facts, row_.median_ns()))
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
