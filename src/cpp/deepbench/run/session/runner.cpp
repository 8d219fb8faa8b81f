// Reads problem lines and makes their rows.
#include "deepbench/run/session/runner.hpp"

#include <algorithm>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/chain/chain_request.hpp"
#include "deepbench/run/fleet/fleet_row.hpp"
#include "deepbench/run/row/assemble.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/current_failure.hpp"
#include "deepbench/run/row/make_row.hpp"
#include "deepbench/run/row/trial.hpp"
#include "deepbench/run/session/core_binding.hpp"
#include "deepbench/run/session/hello.hpp"

namespace deepbench {
namespace {

// The time limit of a ceiling's problem. It is short, since the first row needs several of them.
constexpr double kCeilingLimitNs = 0.25e9;

// Runs `body` and records what it throws as the row's status and reason.
template <class Body>
void record_failure_in(RowSteps& steps, Body body) {
  try {
    body();
  } catch (...) {
    const RowFailure failure = current_failure();
    steps.status = failure.status();
    steps.reason = failure.what();
  }
}

double accounted_ns(const Stages& stages) {
  return stages.prepare_ns + stages.verify_ns + stages.measure_ns + stages.ceilings_ns;
}

void record_device(const Attributes& device, RowSteps& steps) {
  steps.device_name = device.text("name");
  steps.requested_regime = requested_regime(*steps.request, device);
}

// Measures a problem of a ceiling as a row. A problem that the device cannot run is a row without
// samples.
MeasuredProblem measure_for_ceiling(const Backend& backend, const RunOptions& options,
                                    const Attributes& device, const std::string& text) {
  RunOptions quick;
  quick.device = options.device;
  quick.threads = options.threads;
  const Problem problem = Problem::parse(text);
  RowSteps steps;
  steps.backend = backend.name();
  steps.request = {problem, quick};
  record_device(device, steps);
  try {
    Trial trial({backend, device}, plan_first_choice({problem, quick}, backend), steps.stages);
    MeasureOptions how = quick.for_measuring(device);
    how.min_total_ns = MeasureOptions().min_total_ns;
    how.time_limit_ns = kCeilingLimitNs;
    steps.found.measurement = trial.measure(how);
    steps.found.clocks = observed_clocks(*steps.found.measurement->samples);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    steps.status = failure.status();
    steps.reason = failure.what();
  }
  auto row = std::make_shared<const Row>(assemble(steps));
  return {row->median_ns(), row};
}

// The position of the ';' outside quotes that ends the problem; npos if there is none.
size_t end_of_problem(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && quoted)
      ++i;
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ';' && !quoted)
      return i;
  }
  return std::string_view::npos;
}

// Refuses more threads than the process may use, because the row would measure the scheduler.
void check_threads(const RunOptions& options, const Attributes& device) {
  const int64_t most = device.integer("hardware_threads");
  if (most > 0 && options.threads > most)
    throw InvalidProblem("threads=" + std::to_string(options.threads) + ": this process may use " +
                         std::to_string(most) + " hardware thread" + (most == 1 ? "" : "s") +
                         "; give at most so many");
}

// The reason why a backend has no device, according to its first library, which is the driver if it
// uses one.
std::string no_device_reason(const Backend& backend) {
  const auto all = libraries_in(backend.describe());
  const std::string reason = all.empty() ? "" : all.front().second.text("reason");
  return reason.empty() ? "" : ": " + reason;
}

// The reason with the name of the backend before it, unless the reason begins with it already.
std::string with_backend_name(const std::string& backend, const std::string& reason) {
  const std::string name = "backend " + backend + ": ";
  return reason.compare(0, name.size(), name) == 0 ? reason : name + reason;
}

int check_device(const Backend& backend, int64_t device) {
  const int count = backend.device_count();
  if (count == 0)
    throw BackendUnavailable("backend " + backend.name() + " has no device here" +
                             no_device_reason(backend));
  if (device >= count)
    throw BackendUnavailable("backend " + backend.name() + " has no device " +
                             std::to_string(device) + "; it has " + std::to_string(count) +
                             (count == 1 ? " device" : " devices"));
  return count;
}

}  // namespace

Row run(const Backend& backend, const Problem& problem, const RunOptions& options,
        Ceilings* ceilings) {
  RowSteps steps;
  TrialSlot slot;
  Stopwatch watch;
  steps.position = options.position;
  record_failure_in(steps, [&] {
    RowContext context{backend, backend.describe_device(int(options.device))};
    Baselines baselines;
    context.ceilings = ceilings;
    context.baselines = &baselines;
    context.measures_energy = options.energy;
    steps.request = {problem, options};
    steps.backend = backend.name();
    record_device(context.device, steps);
    check_threads(options, context.device);
    make_row(context, slot, steps);
  });
  steps.stages.other_ns = watch.lap_ns() - accounted_ns(steps.stages);
  return assemble(steps);
}

Runner::Runner(const std::string& backend, const std::string& options,
               const std::vector<std::string>& plugin_paths, std::shared_ptr<Group> group)
    : group_(std::move(group)),
      defaults_([&] {
        RunOptions parsed;
        parsed.apply(options);
        return parsed;
      }()),
      backend_([&] {
        std::optional<Backend> loaded;
        start_collectively(group_.get(), [&] {
          if (group_ && defaults_.share_cores) bind_to_core_share(*group_);
          loaded = load_backend(backend, plugin_paths, &skipped_backends_);
        });
        return *loaded;
      }()) {
  start_collectively(group_.get(), [&] {
    assign_device(options);
    start();
  });
}

Runner::~Runner() {
  release();
  if (group_) group_->end();
}

void Runner::start() {
  try {
    device_count_ = check_device(backend_, defaults_.device);
    for (const int64_t device : group_ ? std::vector<int64_t>() : defaults_.devices)
      check_device(backend_, device);
    apply_environment();
    facts_ = backend_.describe();
    device_ = backend_.describe_device(int(defaults_.device));
    if (group_) join();
    if (group_) rank_devices_ = gather_rank_devices(*group_, rank_device());
  } catch (const RowFailure& failure) {
    throw BackendUnavailable(with_backend_name(backend_.name(), failure.what()));
  }
  check_library(defaults_.library);
  check_threads(defaults_, device_);
}

// Joins the group. If the backend has no collectives, the ranks can still make rows as a fleet.
void Runner::join() {
  try {
    group_->collective_step(AbortScope::kStep, "join", [&] { backend_.join(group_); });
  } catch (const RowFailure& failure) {
    if (failure.status() != Status::kUnsupported) throw;
    no_collectives_reason_ = failure.what();
  }
}

// The bus address distinguishes the devices of a machine if they have no uuid.
RankDevice Runner::rank_device() const {
  const std::string uuid = device_.text("uuid");
  return {group_->self().host, defaults_.device, device_.text("name"),
          uuid.empty() ? device_.text("pci_bus_id") : uuid};
}

void Runner::assign_device(const std::string& options) {
  if (!group_) return;
  const auto words = parse_key_values(options);
  const auto names_one = [](const KeyValue& word) { return word.key == "device"; };
  if (std::any_of(words.begin(), words.end(), names_one)) return;
  const auto local_rank = static_cast<size_t>(group_->self().local_rank);
  const std::vector<int64_t>& named = defaults_.devices;
  if (!named.empty() && local_rank >= named.size())
    throw RowFailure(Status::kInvalid,
                     "this machine has " + std::to_string(group_->self().local_size) +
                         " ranks, and devices are named for " + std::to_string(named.size()));
  const int devices = backend_.device_count();
  if (!named.empty())
    defaults_.device = named[local_rank];
  else if (devices > 0)
    defaults_.device = group_->self().local_rank % devices;
}

// Sets the environment before any library is loaded, because a library reads it then. Backends load
// their libraries lazily.
void Runner::apply_environment() {
  environment_ =
      set_environment_defaults(backend_.required_environment_variables(defaults_.for_plugin()));
}

void Runner::check_library(const std::string& library) const {
  if (library.empty()) return;
  std::string list;
  std::vector<std::string> names;
  for (const auto& [name, facts] : libraries_in(facts_)) {
    if (name == library && !facts.has("reason")) return;
    if (name == library)
      throw BackendUnavailable("library " + library + ": " + facts.text("reason"));
    names.push_back(name);
    list += " " + name;
  }
  throw BackendUnavailable("backend " + backend_.name() + " knows no library '" + library + "'" +
                           suggestion(library, names) + "; it knows" + list);
}

Ceilings& Runner::ceilings(const RunOptions& options, const Attributes& device) {
  const std::pair<int64_t, int64_t> key = {options.device, options.threads};
  const auto known = ceilings_.find(key);
  if (known != ceilings_.end()) return known->second;
  const auto measure = [this, options, device](const std::string& problem) {
    return announce_and_measure(
        problem, [&] { return measure_for_ceiling(backend_, options, device, problem); });
  };
  const auto report = [this](const CeilingKey& ceiling, const Row& row, bool is_raised) {
    if (ceiling_callback_) ceiling_callback_(ceiling_line(ceiling, row, is_raised));
  };
  const CeilingConditions conditions = {options.device, options.threads,
                                        device.integer("hardware_threads")};
  return ceilings_.emplace(key, Ceilings(device, conditions, measure, report, given_ceilings_))
      .first->second;
}

// In a group nothing is announced: a lost rank ends the whole group.
MeasuredProblem Runner::announce_and_measure(const std::string& problem,
                                             const std::function<MeasuredProblem()>& measure) {
  if (!measuring_callback_ || group_) return measure();
  measuring_callback_(problem, std::exchange(row_to_announce_, ""));
  MeasuredProblem measured = measure();
  measuring_callback_("", "");
  return measured;
}

Row Runner::run(std::string_view line, int64_t position) {
  release();
  RowSteps steps;
  Stopwatch watch;
  steps.position = position;
  steps.backend = backend_.name();
  record_failure_in(steps, [&] {
    const RowRequest request = parse_row_line(line, steps);
    steps.request = request;
    if (!group_ || request.options.check) return run_alone(steps);
    if (!request.problem.operation().is_collective()) return run_in_fleet(line, steps);
    if (!no_collectives_reason_.empty())
      throw RowFailure(Status::kUnsupported, no_collectives_reason_);
    run_collective(line, steps);
  });
  device_lost_ = device_lost_ || steps.status == Status::kDeviceLost;
  steps.stages.other_ns = watch.lap_ns() - accounted_ns(steps.stages);
  return assemble(steps);
}

ChainRow Runner::run_chain(std::string_view line) {
  release();
  ChainRow chain;
  try {
    const ChainRequest request = parse_chain(line);
    if (group_) throw InvalidProblem("chain: several ranks cannot make one");
    RunOptions options = defaults_;
    options.apply(request.options);
    if (options.algorithm != "default" || options.once || options.check || options.soak > 0 ||
        options.cold)
      throw InvalidProblem(
          "chain: its kernels have the library's default algorithms and hot caches, and it is "
          "measured by samples");
    RowContext context{backend_, backend_.describe_device(int(options.device))};
    context.activity = &activity_;
    chain = make_chain(context, request, options);
  } catch (...) {
    const RowFailure failure = current_failure();
    chain.row.status = failure.status();
    chain.row.reason = failure.what();
  }
  device_lost_ = device_lost_ || chain.row.status == Status::kDeviceLost;
  return chain;
}

// Records each part before a later one can fail, so that a row whose line is invalid has its
// problem.
RowRequest Runner::parse_row_line(std::string_view line, RowSteps& steps) const {
  const size_t end = end_of_problem(line);
  const std::string text(line.substr(0, end));
  steps.line = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  // A row quotes an invalid problem, and no reader accepts a row with a NUL. The writer of rows
  // replaces what is not UTF-8.
  std::replace(steps.line.begin(), steps.line.end(), '\0', '\xff');
  RunOptions options = defaults_;
  if (end != std::string_view::npos) options.apply(line.substr(end + 1));
  if (options.position >= 0) steps.position = options.position;
  return {Problem::parse(text), options};
}

// The context of a row that this process makes alone. Throws for an option that ranks cannot change
// from row to row.
RowContext Runner::begin_row(RowSteps& steps) {
  const RunOptions& options = steps.request->options;
  // The group's messages name the devices with which the ranks started.
  if (group_ && (options.device != defaults_.device || options.devices != defaults_.devices))
    throw InvalidProblem("device: of several ranks each keeps the one with which it began");
  if (options.share_cores != defaults_.share_cores)
    throw InvalidProblem("cores: ranks divide them before their first row, alike for all rows");
  // A check measures nothing, so that the facts from the start suffice.
  const bool known = options.check && options.device == defaults_.device;
  RowContext context{backend_, known ? device_ : backend_.describe_device(int(options.device))};
  context.ceilings = &ceilings(options, context.device);
  context.baselines = &baselines_;
  context.activity = &activity_;
  context.measures_energy = options.energy;
  context.on_admitted = admitted_callback_;
  if (measuring_callback_ && !group_)
    context.before_ceilings = [this](const Row& row) { row_to_announce_ = row.to_json(); };
  record_device(context.device, steps);
  check_threads(options, context.device);
  return context;
}

void Runner::run_alone(RowSteps& steps) { make_row(begin_row(steps), slot_, steps); }

void Runner::run_collective(std::string_view line, RowSteps& steps) {
  if (group_->rank() == 0) group_->broadcast_row(std::string(line));
  group_->collective_step(AbortScope::kRow, "row", [&] {
    RowContext context = begin_row(steps);
    context.group = group_.get();
    make_row(context, slot_, steps);
  });
}

// Lets rank 0 select alone, however long that takes. If its row fails, all ranks measure the
// library's default.
Selection Runner::select_on_rank_zero(const RowRequest& request) {
  RowSteps steps;
  record_failure_in(steps, [&] {
    steps.request = request;
    RowContext context = begin_row(steps);
    // Energy, baselines and ceilings are measured with the row: the first two by all ranks, the
    // ceilings by rank 0.
    context.measures_energy = false;
    context.baselines = nullptr;
    context.ceilings = nullptr;
    make_row(context, slot_, steps);
  });
  release();
  if (steps.status == Status::kDeviceLost) throw RowFailure(steps.status, steps.reason);
  Selection selection;
  if (steps.status == Status::kOk && steps.selection) selection = *steps.selection;
  selection.notes = assemble(steps).notes;
  return selection;
}

// All ranks measure the same candidate, since times of different algorithms do not compare devices.
void Runner::run_in_fleet(std::string_view line, RowSteps& steps) {
  const RunOptions& options = steps.request->options;
  std::string candidate = options.named_candidate();
  std::optional<Selection> selection;
  if (options.selects_algorithm() && group_->rank() == 0 && !options.once) {
    selection = select_on_rank_zero(*steps.request);
    candidate = selection->measurement.candidate;
  }
  FleetCoordinator fleet(*group_, rank_devices_, candidate);
  steps.is_fleet_row = true;
  if (group_->rank() == 0) group_->broadcast_row(std::string(line));
  group_->collective_step(AbortScope::kRow, "row",
                          [&] { make_fleet_row(begin_row(steps), fleet, slot_, steps); });
  steps.rank_zero_selection = std::move(selection);
}

void Runner::follow_rank_zero() {
  for (std::optional<std::string> line; (line = group_->next_row()); release()) {
    const Row row = run(*line, 0);
    if (device_lost_) throw RowFailure(row.status, row.reason);
  }
}

}  // namespace deepbench
