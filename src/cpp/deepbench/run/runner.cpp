// Problem lines in, rows out.
#include "deepbench/run/runner.hpp"

#include <algorithm>
#include <new>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/run/cores.hpp"
#include "deepbench/run/hello.hpp"
#include "deepbench/run/loader.hpp"
#include "deepbench/run/ranks.hpp"
#include "deepbench/run/row.hpp"
#include "deepbench/run/trial.hpp"

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
void into_row(Result& row, Body body) {
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

double known_stages(const Stages& stages) {
  return stages.prepare_ns + stages.verify_ns + stages.measure_ns + stages.ceilings_ns;
}

void describe_problem(const Backend& backend, const Problem& problem, const RunOptions& options,
                      const Attributes& device, Result& row) {
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

void run_into(const Backend& backend, const Problem& problem, const RunOptions& options,
              const Attributes& device, Ceilings& ceilings, std::unique_ptr<Trial>& kept,
              Result& row) {
  describe_problem(backend, problem, options, device, row);
  check_threads(options, device);
  RunOptions here = options;
  here.most_clock_mhz = device.real("most_clock_mhz");
  RowMaker(backend, device, problem, here, ceilings, kept, row).make();
}

// Why a backend without devices has none, as far as the first of its libraries tells: that is the
// driver where there is one.
std::string why_no_device(const Backend& backend) {
  const auto all = libraries(backend.describe());
  const std::string reason = all.empty() ? "" : all.front().second.text("reason");
  return reason.empty() ? "" : ": " + reason;
}

int check_device(const Backend& backend, int64_t device) {
  const int count = backend.device_count();
  if (count == 0)
    throw BackendUnavailable("backend " + backend.name() + " has no device here" +
                             why_no_device(backend));
  if (device >= count)
    throw BackendUnavailable("backend " + backend.name() + " has no device " +
                             std::to_string(device) + "; it has " + std::to_string(count) +
                             (count == 1 ? " device" : " devices"));
  return count;
}

}  // namespace

Result run(const Backend& backend, const Problem& problem, const RunOptions& options,
           Ceilings* ceilings) {
  Result row;
  Stopwatch watch;
  row.position = options.position;
  into_row(row, [&] {
    RunOptions mine = options;
    mine.ceilings = options.ceilings && ceilings;
    const Attributes device = backend.describe_device(int(options.device));
    Ceilings none(device, [](const std::string&) { return 0.0; });
    std::unique_ptr<Trial> kept;
    run_into(backend, problem, mine, device, ceilings ? *ceilings : none, kept, row);
  });
  row.stages.other_ns = watch.lap_ns() - known_stages(row.stages);
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
        start_together(group_.get(), [&] {
          if (group_ && defaults_.share_cores) take_own_cores(*group_);
          loaded = load_backend(backend, plugin_paths, &why_);
        });
        return *loaded;
      }()) {
  start_together(group_.get(), [&] {
    take_own_device(options);
    start();
  });
}

Runner::~Runner() {
  kept_.reset();
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
    if (group_) places_ = places_of_all(*group_, own_place());
  } catch (const RowFailure& failure) {
    throw BackendUnavailable("backend " + backend_.name() + ": " + failure.what());
  }
  check_library(defaults_.library);
  check_threads(defaults_, device_);
}

// Rows of a fleet need no collectives.
void Runner::join() {
  try {
    group_->together(Level::kStep, "join", [&] { backend_.join(group_); });
  } catch (const RowFailure& failure) {
    if (failure.status() != Status::kUnsupported) throw;
    no_collectives_ = failure.what();
  }
}

// A bus tells the devices of a machine apart where they have no number of their own.
RankPlace Runner::own_place() const {
  const std::string uuid = device_.text("uuid");
  return {group_->self().host, defaults_.device, device_.text("name"),
          uuid.empty() ? device_.text("pci_bus_id") : uuid};
}

void Runner::take_own_device(const std::string& options) {
  if (!group_) return;
  const auto words = parse_key_values(options);
  const auto names_one = [](const KeyValue& word) { return word.key == "device"; };
  if (std::any_of(words.begin(), words.end(), names_one)) return;
  const auto place = static_cast<size_t>(group_->self().local_rank);
  const std::vector<int64_t>& named = defaults_.devices;
  if (!named.empty() && place >= named.size())
    throw RowFailure(Status::kInvalid,
                     "this machine has " + std::to_string(group_->self().local_size) +
                         " ranks, and devices are named for " + std::to_string(named.size()));
  const int devices = backend_.device_count();
  if (!named.empty())
    defaults_.device = named[place];
  else if (devices > 0)
    defaults_.device = group_->self().local_rank % devices;
}

// Libraries read their environment once, when they are loaded; backends load them lazily, so that
// this comes first.
void Runner::apply_environment() {
  environment_ = applied(backend_.environment(defaults_.for_plugin("")));
}

void Runner::check_library(const std::string& library) const {
  if (library.empty()) return;
  std::string list;
  std::vector<std::string> names;
  for (const auto& [name, facts] : libraries(facts_)) {
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
    return announced(problem, [&] { return ceiling_ns(backend_, options, device, problem); });
  };
  return ceilings_.emplace(key, Ceilings(device, measure)).first->second;
}

double Runner::announced(const std::string& problem, const std::function<double()>& measured) {
  if (!before_ceiling_ || group_) return measured();  // a rank that is lost takes the others along
  const Result* const row = std::exchange(unannounced_, nullptr);
  before_ceiling_(problem, row ? row->to_json() : "");
  const double ns = measured();
  before_ceiling_("", "");
  return ns;
}

Result Runner::run(std::string_view line, int64_t position) {
  release();
  Result row;
  unannounced_ = &row;
  Stopwatch watch;
  row.position = position;
  row.backend = backend_.name();
  into_row(row, [&] {
    const size_t end = end_of_problem(line);
    const std::string text(line.substr(0, end));
    row.problem = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    RunOptions options = defaults_;
    if (end != std::string_view::npos) options.apply(line.substr(end + 1));
    if (options.position >= 0) row.position = options.position;
    const Problem problem = Problem::parse(text);
    if (!group_ || options.check) return make(problem, options, row);
    if (problem.operation().is_collective()) {
      if (!no_collectives_.empty()) throw RowFailure(Status::kUnsupported, no_collectives_);
      return make_together(line, problem, options, row);
    }
    make_in_fleet(line, problem, options, row);
  });
  unannounced_ = nullptr;
  device_lost_ = device_lost_ || row.status == Status::kDeviceLost;
  row.stages.other_ns = watch.lap_ns() - known_stages(row.stages);
  return row;
}

void Runner::make(const Problem& problem, const RunOptions& options, Result& row) {
  // What is said of ranks names the devices with which they began.
  if (group_ && (options.device != defaults_.device || options.devices != defaults_.devices))
    throw InvalidProblem("device: of several ranks each keeps the one with which it began");
  if (options.share_cores != defaults_.share_cores)
    throw InvalidProblem("cores: ranks divide them before their first row, alike for all rows");
  // A check asks for no measurement: what was known at the start will do.
  const bool known = options.check && options.device == defaults_.device;
  const Attributes device = known ? device_ : backend_.describe_device(int(options.device));
  run_into(backend_, problem, options, device, ceilings(options, device), kept_, row);
}

void Runner::make_together(std::string_view line, const Problem& problem, RunOptions& options,
                           Result& row) {
  options.group = group_.get();
  if (group_->rank() == 0) group_->tell(std::string(line));
  group_->together(Level::kRow, "row", [&] { make(problem, options, row); });
}

// What its rank 0 chooses alone, for as long as it takes; where that comes to nothing, the
// library's own choice is as good as any.
Result Runner::chosen_alone(const Problem& problem, const RunOptions& options) {
  Result row;
  into_row(row, [&] {
    RunOptions alone = options;
    alone.ceilings = alone.energy = false;  // the row's own is wanted
    make(problem, alone, row);
  });
  kept_.reset();
  if (row.status == Status::kDeviceLost) throw RowFailure(row.status, row.reason);
  if (row.status != Status::kOk) row.algorithm = Algorithm();
  row.algorithm.mode = options.algorithm;
  return row;
}

// All ranks measure the same candidate: times of different ones say nothing of devices.
void Runner::make_in_fleet(std::string_view line, const Problem& problem, RunOptions& options,
                           Result& row) {
  std::string candidate = options.named_candidate();
  Result chosen;
  const bool choosing = options.chooses() && group_->rank() == 0 && !options.once;
  if (choosing) {
    chosen = chosen_alone(problem, options);
    candidate = chosen.algorithm.candidate;
  }
  FleetRow fleet(*group_, places_, candidate);
  options.fleet = &fleet;
  if (group_->rank() == 0) group_->tell(std::string(line));
  group_->together(Level::kRow, "row", [&] { make(problem, options, row); });
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

void Runner::follow() {
  for (std::optional<std::string> line; (line = group_->next_row()); release()) {
    const Result row = run(*line, 0);
    if (device_lost_) throw RowFailure(row.status, row.reason);
  }
}

}  // namespace deepbench
