// Problem lines in, rows out.
#include "deepbench/run/session/runner.hpp"

#include <algorithm>
#include <new>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/row_builder.hpp"
#include "deepbench/run/row/trial.hpp"
#include "deepbench/run/session/core_binding.hpp"
#include "deepbench/run/session/hello.hpp"

namespace deepbench {
namespace {

// A ceiling's own loop: short, since several are needed before the first row can be judged.
constexpr double kCeilingLimitNs = 0.25e9;

double ceiling_ns(const Backend& backend, const RunOptions& options, const Attributes& device,
                  const std::string& text) {
  RunOptions quick;
  quick.device = options.device;
  quick.threads = options.threads;
  quick.most_clock_mhz = device.real("most_clock_mhz");
  try {
    const Problem problem = Problem::parse(text);
    // A fast but wrong product would be a false limit; moving bytes is checked as rows.
    quick.verify = problem.op() == "gemm";
    backend.supports(problem, quick.for_plugin(""));
    Stages stages;
    Trial trial(backend, problem, quick, "", stages);
    MeasureOptions how = quick.for_measuring(device);
    how.min_total_ns = MeasureOptions().min_total_ns;
    how.time_limit_ns = kCeilingLimitNs;
    trial.measure(how);
    return median(trial.samples()->per_call_ns);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    return 0;  // no ceiling of this kind here
  }
}

// Runs `body` and turns whatever it throws into the row's status and reason.
template <class Body>
void record_failure_in(Row& row, Body body) {
  const auto end = [&](Status status, const char* reason) {
    row.status = status;
    row.reason = reason;
  };
  try {
    body();
  } catch (const InvalidProblem& error) {
    end(Status::kInvalid, error.what());
  } catch (const RowFailure& failure) {
    end(failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    end(Status::kOutOfMemory, "out of host memory");
  } catch (const std::exception& error) {
    end(Status::kFailed, error.what());
  }
}

double accounted_ns(const Stages& stages) {
  return stages.prepare_ns + stages.verify_ns + stages.measure_ns + stages.ceilings_ns;
}

void describe_problem(const Backend& backend, const Problem& problem, const RunOptions& options,
                      const Attributes& device, Row& row) {
  row.problem = problem.str();
  row.op = problem.op();
  row.attributes = problem.attributes();
  row.application = problem.metadata().text("application");
  row.backend = backend.name();
  row.device = options.device;
  row.device_name = device.text("name");
  row.algorithm.mode = options.algorithm;
  row.regime.cache = options.cold ? "cold" : "hot";
  row.regime.power = options.steady ? "steady" : "burst";
  row.work = problem.operation().work(problem);
  const double cache = device.real("last_level_cache_bytes");
  if (!options.cold && cache > 0) row.regime.resident = row.work.bytes <= cache;
  if (options.inputs != "uniform") row.notes.push_back("inputs are all " + options.inputs);
}

// The position of the ';' that ends the problem, outside quotes; npos if there is none.
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

// More threads than the process may use take turns: what is measured then is the scheduler.
void check_threads(const RunOptions& options, const Attributes& device) {
  const int64_t most = device.integer("hardware_threads");
  if (most > 0 && options.threads > most)
    throw InvalidProblem("threads=" + std::to_string(options.threads) + ": this process may use " +
                         std::to_string(most) + " hardware thread" + (most == 1 ? "" : "s") +
                         "; give at most so many");
}

void run_row(const Backend& backend, const Problem& problem, const RunOptions& options,
             const Attributes& device, Ceilings& ceilings, std::unique_ptr<Trial>& last_trial,
             Row& row) {
  describe_problem(backend, problem, options, device, row);
  check_threads(options, device);
  RunOptions here = options;
  here.most_clock_mhz = device.real("most_clock_mhz");
  RowBuilder(backend, device, problem, here, ceilings, last_trial, row).build();
}

// Why a backend without devices has none, as far as the first of its libraries tells: that is the
// driver where there is one.
std::string no_device_reason(const Backend& backend) {
  const auto all = libraries_in(backend.describe());
  const std::string reason = all.empty() ? "" : all.front().second.text("reason");
  return reason.empty() ? "" : ": " + reason;
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
  Row row;
  Stopwatch watch;
  row.position = options.position;
  record_failure_in(row, [&] {
    RunOptions mine = options;
    mine.ceilings = options.ceilings && ceilings;
    const Attributes device = backend.describe_device(int(options.device));
    Ceilings none(device, [](const std::string&) { return 0.0; });
    std::unique_ptr<Trial> last_trial;
    run_row(backend, problem, mine, device, ceilings ? *ceilings : none, last_trial, row);
  });
  row.stages.other_ns = watch.lap_ns() - accounted_ns(row.stages);
  return row;
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
  last_trial_.reset();
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
    throw BackendUnavailable("backend " + backend_.name() + ": " + failure.what());
  }
  check_library(defaults_.library);
  check_threads(defaults_, device_);
}

// Rows of a fleet need no collectives.
void Runner::join() {
  try {
    group_->collective_step(AbortScope::kStep, "join", [&] { backend_.join(group_); });
  } catch (const RowFailure& failure) {
    if (failure.status() != Status::kUnsupported) throw;
    no_collectives_reason_ = failure.what();
  }
}

// A bus tells the devices of a machine apart where they have no number of their own.
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

// Libraries read their environment once, when they are loaded; backends load them lazily, so that
// this comes first.
void Runner::apply_environment() {
  environment_ = set_environment(backend_.environment(defaults_.for_plugin("")));
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
  const auto at = ceilings_.find(key);
  if (at != ceilings_.end()) return at->second;
  const auto measure = [this, options, device](const std::string& problem) {
    return measure_announced(problem,
                             [&] { return ceiling_ns(backend_, options, device, problem); });
  };
  return ceilings_.emplace(key, Ceilings(device, measure)).first->second;
}

double Runner::measure_announced(const std::string& problem,
                                 const std::function<double()>& measured) {
  if (!ceiling_callback_ || group_)
    return measured();  // a rank that is lost takes the others along
  const Row* const row = std::exchange(unannounced_row_, nullptr);
  ceiling_callback_(problem, row ? row->to_json() : "");
  const double ns = measured();
  ceiling_callback_("", "");
  return ns;
}

Row Runner::run(std::string_view line, int64_t position) {
  release();
  Row row;
  unannounced_row_ = &row;
  Stopwatch watch;
  row.position = position;
  row.backend = backend_.name();
  record_failure_in(row, [&] {
    const size_t end = end_of_problem(line);
    const std::string text(line.substr(0, end));
    row.problem = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    RunOptions options = defaults_;
    if (end != std::string_view::npos) options.apply(line.substr(end + 1));
    if (options.position >= 0) row.position = options.position;
    const Problem problem = Problem::parse(text);
    if (!group_ || options.check) return make_row(problem, options, row);
    if (problem.operation().is_collective()) {
      if (!no_collectives_reason_.empty())
        throw RowFailure(Status::kUnsupported, no_collectives_reason_);
      return make_collective_row(line, problem, options, row);
    }
    make_fleet_row(line, problem, options, row);
  });
  unannounced_row_ = nullptr;
  device_lost_ = device_lost_ || row.status == Status::kDeviceLost;
  row.stages.other_ns = watch.lap_ns() - accounted_ns(row.stages);
  return row;
}

void Runner::make_row(const Problem& problem, const RunOptions& options, Row& row) {
  // What is said of ranks names the devices with which they began.
  if (group_ && (options.device != defaults_.device || options.devices != defaults_.devices))
    throw InvalidProblem("device: of several ranks each keeps the one with which it began");
  if (options.share_cores != defaults_.share_cores)
    throw InvalidProblem("cores: ranks divide them before their first row, alike for all rows");
  // A check asks for no measurement: what was known at the start will do.
  const bool known = options.check && options.device == defaults_.device;
  const Attributes device = known ? device_ : backend_.describe_device(int(options.device));
  run_row(backend_, problem, options, device, ceilings(options, device), last_trial_, row);
}

void Runner::make_collective_row(std::string_view line, const Problem& problem, RunOptions& options,
                                 Row& row) {
  options.group = group_.get();
  if (group_->rank() == 0) group_->broadcast(std::string(line));
  group_->collective_step(AbortScope::kRow, "row", [&] { make_row(problem, options, row); });
}

// What its rank 0 chooses alone, for as long as it takes; where that comes to nothing, the
// library's default is as good as any.
Row Runner::select_on_rank_zero(const Problem& problem, const RunOptions& options) {
  Row row;
  record_failure_in(row, [&] {
    RunOptions alone = options;
    alone.ceilings = alone.energy = false;  // the row's own is wanted
    make_row(problem, alone, row);
  });
  last_trial_.reset();
  if (row.status == Status::kDeviceLost) throw RowFailure(row.status, row.reason);
  if (row.status != Status::kOk) row.algorithm = Algorithm();
  row.algorithm.mode = options.algorithm;
  return row;
}

// All ranks measure the same candidate: times of different ones say nothing of devices.
void Runner::make_fleet_row(std::string_view line, const Problem& problem, RunOptions& options,
                            Row& row) {
  std::string candidate = options.named_candidate();
  Row chosen;
  const bool choosing = options.selects_algorithm() && group_->rank() == 0 && !options.once;
  if (choosing) {
    chosen = select_on_rank_zero(problem, options);
    candidate = chosen.algorithm.candidate;
  }
  FleetCoordinator fleet(*group_, rank_devices_, candidate);
  options.fleet = &fleet;
  if (group_->rank() == 0) group_->broadcast(std::string(line));
  group_->collective_step(AbortScope::kRow, "row", [&] { make_row(problem, options, row); });
  if (!choosing) return;
  const Algorithm found = row.algorithm;
  row.algorithm = chosen.algorithm;
  row.algorithm.name = found.name;
  row.algorithm.workspace_bytes = found.workspace_bytes;
  row.algorithm.planning_ns = found.planning_ns;
  for (const std::string& note : chosen.notes)  // what its kernel says, the row says already
    if (std::find(row.notes.begin(), row.notes.end(), note) == row.notes.end())
      row.notes.push_back(note);
}

void Runner::follow_rank_zero() {
  for (std::optional<std::string> line; (line = group_->next_row()); release()) {
    const Row row = run(*line, 0);
    if (device_lost_) throw RowFailure(row.status, row.reason);
  }
}

}  // namespace deepbench
