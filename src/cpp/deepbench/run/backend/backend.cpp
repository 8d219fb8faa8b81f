// RAII over a plugin's table.
#include "deepbench/run/backend/backend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "deepbench/core/status.hpp"
#include "deepbench/fill.h"
#include "deepbench/group/group.hpp"
#include "deepbench/plugin_chain.h"
#include "deepbench/plugin_collective.h"
#include "deepbench/plugin_energy.h"
#include "deepbench/run/backend/fact_ranges.hpp"
#include "deepbench/run/backend/limits.hpp"
#include "deepbench/run/backend/marshal.hpp"
#include "deepbench/run/backend/plugin_text.hpp"

namespace deepbench {
namespace {

constexpr double kShortestCallNs = 1e-3;  // light travels a third of a millimeter in it

Status row_status(deepbench_status status) {
  switch (status) {
    case DEEPBENCH_OK:
      return Status::kOk;
    case DEEPBENCH_UNSUPPORTED:
      return Status::kUnsupported;
    case DEEPBENCH_INVALID:
      return Status::kInvalid;
    case DEEPBENCH_OUT_OF_MEMORY:
      return Status::kOutOfMemory;
    case DEEPBENCH_DEVICE_LOST:
      return Status::kDeviceLost;
    case DEEPBENCH_FAILED:
      break;
  }
  return Status::kFailed;
}

[[noreturn]] void invalid_answer(const char* slot, const std::string& what) {
  throw RowFailure(Status::kFailed,
                   std::string(slot) + ": the backend gave an impossible answer: " + what);
}

[[noreturn]] void refuse(const deepbench_backend& table, const char* slot,
                         const std::string& what) {
  throw RowFailure(Status::kFailed,
                   "backend " + std::string(table.name) + ": " + slot + ": " + what);
}

// What a slot has thrown, within a handler.
std::string thrown_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return "it threw an exception: " + shown_text(error.what());
  } catch (...) {
    return "it threw something that is no exception";
  }
}

// Why a slot failed. A backend that throws instead of giving the reason changes no status.
std::string last_error(const deepbench_backend& table) {
  try {
    const char* said = table.last_error();
    return shown_text(said && *said ? said : "no reason given");
  } catch (...) {
    return "last_error: " + thrown_text();
  }
}

void check_status(const deepbench_backend* table, deepbench_status status, const char* slot) {
  if (status == DEEPBENCH_OK) return;
  const std::string reason = last_error(*table);
  // The reason names the slot unless the problem is unsupported, which is not the slot's failure.
  throw RowFailure(row_status(status),
                   status == DEEPBENCH_UNSUPPORTED ? reason : std::string(slot) + ": " + reason);
}

// Calls a slot and returns its result. Exceptions must not cross the boundary; one that does ends
// the row.
template <class Result, class... Parameters, class... Arguments>
Result result_of(const deepbench_backend& table, const char* slot,
                 Result (*function)(Parameters...), Arguments... arguments) {
  try {
    return function(arguments...);
  } catch (...) {
    refuse(table, slot, thrown_text());
  }
}

template <class... Parameters, class... Arguments>
void call(const deepbench_backend& table, const char* slot,
          deepbench_status (*function)(Parameters...), Arguments... arguments) {
  check_status(&table, result_of(table, slot, function, arguments...), slot);
}

// Calls a slot that emits values, and returns them if they are within the limits.
template <class Call>
Collector collected(const deepbench_backend& table, const char* slot, Collector::Answer answer,
                    Call emit) {
  Collector collector(answer);
  emit(collector.sink());
  if (!collector.fault().empty()) refuse(table, slot, collector.fault());
  return collector;
}

template <class Call>
Attributes emitted_facts(const deepbench_backend& table, const char* slot, Call emit) {
  const Collector collector = collected(table, slot, Collector::Answer::kFacts, emit);
  const std::string impossible = impossible_fact(collector.values());
  if (!impossible.empty()) invalid_answer(slot, impossible);
  return collector.values();
}

// Drops empty ids, which cannot be written on a command line, and duplicates. Keeps the first, the
// library's default, which is never requested by its id. Throws for a word that the option
// `algorithm` gives another meaning: the candidate of that name would never run.
std::vector<std::string> valid_candidate_ids(const std::vector<std::string>& given) {
  for (const std::string& id : given)
    if (id == "default" || id == "best" || id == "exhaustive")
      invalid_answer("candidates", "a candidate called '" + id + "'");
  std::vector<std::string> ids;
  std::unordered_set<std::string> known;
  for (const std::string& id : given)
    if (ids.empty() || (!id.empty() && known.count(id) == 0)) {
      ids.push_back(id);
      known.insert(id);
    }
  return ids;
}

// The backend's table of an extension, or null. A table that is shorter than the extension's first
// version counts as absent.
template <class Extension>
const Extension* extension(const deepbench_backend& table, const char* name) {
  const void* const found =
      table.extension ? result_of(table, "extension", table.extension, name) : nullptr;
  const auto* const extension = static_cast<const Extension*>(found);
  return extension && extension->struct_size >= sizeof(Extension) ? extension : nullptr;
}

std::string launch_name(int32_t launch) {
  switch (launch) {
    case DEEPBENCH_LAUNCH_GRAPH:
      return "graph";
    case DEEPBENCH_LAUNCH_STREAM:
      return "stream";
    case DEEPBENCH_LAUNCH_ISOLATED:
      return "isolated";
    default:
      return "unknown";
  }
}

// A group as a plugin sees it. It may outlive the group, and then reports a lost rank.
struct PluginGroupView {
  std::weak_ptr<Group> group;
  std::string address;
  deepbench_group view{};
};

// Joins the ranks' parts, each of which must have `bytes` bytes: the plugin's memory holds no more.
std::string joined_parts(const std::vector<std::string>& all, size_t bytes) {
  std::string joined;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size() != bytes)
      throw RowFailure(Status::kFailed, "rank " + std::to_string(rank) + " sent " +
                                            std::to_string(all[rank].size()) +
                                            " bytes instead of " + std::to_string(bytes));
    joined += all[rank];
  }
  return joined;
}

deepbench_status exchange(void* context, const void* mine, size_t bytes, void* all) {
  const std::shared_ptr<Group> group = static_cast<const PluginGroupView*>(context)->group.lock();
  if (!group) return DEEPBENCH_DEVICE_LOST;
  try {
    const std::string step = "exchange of " + std::to_string(bytes) + " bytes";
    const std::string answer = group->reduce_and_broadcast(
        AbortScope::kExchange, step, {static_cast<const char*>(mine), bytes},
        [bytes](const std::vector<std::string>& parts) { return joined_parts(parts, bytes); });
    if (answer.size() != bytes * size_t(group->size())) return DEEPBENCH_FAILED;
    std::copy(answer.begin(), answer.end(), static_cast<char*>(all));
    return DEEPBENCH_OK;
  } catch (const RowFailure& failure) {
    return failure.status() == Status::kDeviceLost ? DEEPBENCH_DEVICE_LOST : DEEPBENCH_FAILED;
  } catch (const std::exception&) {
    return DEEPBENCH_FAILED;
  }
}

int32_t must_abort(void* context) {
  const std::shared_ptr<Group> group = static_cast<const PluginGroupView*>(context)->group.lock();
  return !group || group->must_abort_call();
}

constexpr uint64_t kChunk = 1 << 16;  // elements read at a time if the core scans an output

}  // namespace

Kernel::Kernel(const deepbench_backend* table, deepbench_kernel* handle, Attributes plan)
    : table_(table), handle_(handle, Destroy{table}), facts_(std::move(plan)) {
  const Attributes own = emitted_facts(*table_, "describe_kernel", [&](const deepbench_sink& sink) {
    call(*table_, "describe_kernel", table_->describe_kernel, handle_.get(), sink);
  });
  for (const auto& [name, value] : own.items()) facts_.set(name, value);
}

// Spans around single calls exclude most of the host's time, so that the backend's clock cannot be
// compared with the host's. Only a flush of the caches and the markers of a single call need such
// spans.
bool Kernel::may_isolate(const deepbench_request& request) const {
  return request.launch == DEEPBENCH_LAUNCH_ISOLATED ||
         (request.flags & DEEPBENCH_REQUEST_MARKERS) != 0 || facts_.text("cold") == "flush";
}

void Kernel::check_batch(const deepbench_batch& batch, const deepbench_request& request) const {
  const uint64_t asked = request.count;
  const auto invalid_answer = [](const std::string& what) {
    deepbench::invalid_answer("time_batch", what);
  };
  if (!(batch.elapsed_ns > 0) || batch.elapsed_ns > limits::kLongestNs)
    invalid_answer("an elapsed time of " + std::to_string(batch.elapsed_ns) + " ns");
  if (!(batch.host_ns > 0) || batch.host_ns > limits::kLongestNs)
    invalid_answer("a host time of " + std::to_string(batch.host_ns) + " ns");
  if (batch.elapsed_ns < kShortestCallNs * double(asked))
    invalid_answer("an elapsed time of " + to_text(batch.elapsed_ns) + " ns for " +
                   std::to_string(asked) + " calls");
  if (!std::isfinite(batch.clock_mhz) || batch.clock_mhz < 0)
    invalid_answer("a clock of " + std::to_string(batch.clock_mhz) + " MHz");
  if (batch.count != asked)
    invalid_answer(std::to_string(batch.count) + " calls instead of " + std::to_string(asked));
  if (batch.launch < DEEPBENCH_LAUNCH_GRAPH || batch.launch > DEEPBENCH_LAUNCH_ISOLATED)
    invalid_answer("launch " + std::to_string(batch.launch));
  if (batch.launch == DEEPBENCH_LAUNCH_ISOLATED && !may_isolate(request))
    invalid_answer("isolated calls, which it was not asked for");
  // A kernel that silently uses one copy would measure hot caches in a cold row.
  const uint64_t touched = std::min<uint64_t>(asked, copies());
  if (batch.copies_touched != touched)
    invalid_answer("it touched " + std::to_string(batch.copies_touched) +
                   " copies of the operands, not " + std::to_string(touched));
}

Batch Kernel::time_batch(uint64_t count, deepbench_launch launch, uint32_t flags) {
  const deepbench_request request = {sizeof request, count, launch, flags};
  deepbench_batch raw = {};
  raw.struct_size = sizeof raw;
  call(*table_, "time_batch", table_->time_batch, handle_.get(), &request, &raw);
  check_batch(raw, request);
  Batch batch;
  batch.count = raw.count;
  batch.elapsed_ns = raw.elapsed_ns;
  batch.host_ns = raw.host_ns;
  batch.clock_mhz = raw.clock_mhz;
  batch.throttled = (raw.flags & DEEPBENCH_BATCH_THROTTLED) != 0;
  batch.power_capped = (raw.flags & DEEPBENCH_BATCH_POWER_CAPPED) != 0;
  batch.launch = launch_name(raw.launch);
  const std::string timer_fault = raw.timer ? fault_of_name(raw.timer) : "";
  if (!timer_fault.empty()) refuse(*table_, "time_batch", "the timer's name " + timer_fault);
  batch.timer = raw.timer ? raw.timer : "unknown";
  return batch;
}

void Kernel::restore() {
  if (table_->restore) call(*table_, "restore", table_->restore, handle_.get());
}

bool Kernel::refill(const std::string& inputs, uint64_t seed) {
  if (!table_->refill) return false;
  const deepbench_status status =
      result_of(*table_, "refill", table_->refill, handle_.get(), inputs.c_str(), seed);
  if (status == DEEPBENCH_UNSUPPORTED) return false;
  check_status(table_, status, "refill");
  return true;
}

void Kernel::poison_outputs() {
  call(*table_, "poison_outputs", table_->poison_outputs, handle_.get());
}

std::vector<double> Kernel::read_output(uint32_t output, const std::vector<uint64_t>& indices) {
  std::vector<double> values(indices.size());
  call(*table_, "read_output", table_->read_output, handle_.get(), output, indices.data(),
       indices.size(), values.data());
  return values;
}

deepbench_scan Kernel::scan_output(uint32_t output, uint64_t elements) {
  deepbench_scan scan = {};
  scan.struct_size = sizeof scan;
  if (table_->scan_output) {
    call(*table_, "scan_output", table_->scan_output, handle_.get(), output, &scan);
    return scan;
  }
  std::vector<uint64_t> indices;
  for (uint64_t begin = 0; begin < elements; begin += indices.size()) {
    indices.resize(std::min(kChunk, elements - begin));
    std::iota(indices.begin(), indices.end(), begin);
    for (double value : read_output(output, indices)) {
      scan.count += 1;
      scan.untouched += std::isnan(value) || value == DEEPBENCH_POISON_INTEGER;
      scan.non_finite += std::isinf(value);
    }
  }
  return scan;
}

std::vector<double> Kernel::project_output(uint32_t output, uint64_t rows, uint64_t elements,
                                           uint64_t seed) {
  std::vector<double> sums(rows, 0.0);
  if (table_->project_output) {
    call(*table_, "project_output", table_->project_output, handle_.get(), output, rows, seed,
         sums.data());
    return sums;
  }
  std::vector<uint64_t> indices;
  for (uint64_t begin = 0; begin < elements; begin += indices.size()) {
    indices.resize(std::min(kChunk, elements - begin));
    std::iota(indices.begin(), indices.end(), begin);
    const std::vector<double> values = read_output(output, indices);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t at = begin + i;
      sums[at % rows] += values[i] * deepbench_weight(seed, at / rows);
    }
  }
  return sums;
}

void Kernel::adopt_forward_states(const Kernel& tested) {
  forward_states_ = DEEPBENCH_STATES_UNKNOWN;
  const auto* const forward_state =
      extension<deepbench_forward_state>(*table_, DEEPBENCH_FORWARD_STATE);
  if (!forward_state || !forward_state->adopt || table_ != tested.table_) return;
  int32_t answer = DEEPBENCH_STATES_UNKNOWN;
  const deepbench_status status = result_of(*table_, "adopt", forward_state->adopt, handle_.get(),
                                            tested.handle_.get(), &answer);
  if (status == DEEPBENCH_UNSUPPORTED) return;  // as if the backend lacked the extension
  check_status(table_, status, "adopt");
  if (answer < DEEPBENCH_STATES_WRONG || answer > DEEPBENCH_STATES_ADOPTED)
    invalid_answer("adopt", std::to_string(answer));
  forward_states_ = static_cast<deepbench_forward_states>(answer);
}

BackendPlan::BackendPlan(const deepbench_backend* table, deepbench_plan* handle)
    : table_(table), handle_(handle, Destroy{table}) {
  facts_ = emitted_facts(*table_, "describe_plan", [&](const deepbench_sink& sink) {
    call(*table_, "describe_plan", table_->describe_plan, handle_.get(), sink);
  });
  const int64_t bytes = facts_.integer("memory_bytes", -1);
  if (bytes < 0) invalid_answer("describe_plan", "memory_bytes=" + std::to_string(bytes));
  memory_bytes_ = uint64_t(bytes);
  outputs_ = uint32_t(facts_.integer("outputs", 1));
}

ListedCandidates BackendPlan::candidates(int64_t limit) const {
  if (!table_->candidates) return {};
  const auto emit = [&](const deepbench_sink& sink) {
    call(*table_, "candidates", table_->candidates, handle_.get(), limit, sink);
  };
  const Collector answer = collected(*table_, "candidates", Collector::Answer::kCandidates, emit);
  const std::string impossible = impossible_fact(answer.values());
  if (!impossible.empty()) invalid_answer("candidates", impossible);
  return {valid_candidate_ids(answer.candidates()), answer.values().real("compiling_ns")};
}

BackendPlan BackendPlan::with_candidate(const std::string& id) const {
  if (!table_->plan_candidate)
    throw RowFailure(Status::kInvalid,
                     "candidate '" + printable(id) + "': backend " + table_->name + " has none");
  deepbench_plan* handle = nullptr;
  call(*table_, "plan_candidate", table_->plan_candidate, handle_.get(), id.c_str(), &handle);
  if (!handle) invalid_answer("plan_candidate", "no plan");
  return BackendPlan(table_, handle);
}

Kernel BackendPlan::prepare() const {
  deepbench_kernel* handle = nullptr;
  call(*table_, "prepare", table_->prepare, handle_.get(), &handle);
  if (!handle) invalid_answer("prepare", "no kernel");
  return Kernel(table_, handle, facts_);
}

Backend::Backend(const deepbench_backend* table, std::string path)
    : table_(table), path_(std::move(path)) {}

Attributes Backend::describe() const {
  const Attributes facts = emitted_facts(*table_, "describe", [&](const deepbench_sink& sink) {
    call(*table_, "describe", table_->describe, sink);
  });
  if (!simulated_time_) simulated_time_ = facts.integer("simulated_time") != 0;
  return facts;
}

bool Backend::has_simulated_time() const {
  if (!simulated_time_) describe();
  return *simulated_time_;
}

int Backend::device_count() const {
  int32_t count = 0;
  call(*table_, "device_count", table_->device_count, &count);
  if (count < 0 || count > limits::kDevices)
    invalid_answer("device_count", std::to_string(count) + " devices");
  return count;
}

Attributes Backend::describe_device(int device) const {
  return emitted_facts(*table_, "describe_device", [&](const deepbench_sink& sink) {
    call(*table_, "describe_device", table_->describe_device, device, sink);
  });
}

Attributes Backend::required_environment_variables(const Attributes& options) const {
  if (!table_->environment) return {};
  const ValuesView given(options);
  const auto emit = [&](const deepbench_sink& sink) {
    call(*table_, "environment", table_->environment, given.get(), sink);
  };
  const Attributes variables =
      collected(*table_, "environment", Collector::Answer::kVariables, emit).values();
  for (const auto& [name, value] : variables.items())
    if (name.empty() || name.find('=') != std::string::npos)
      invalid_answer("environment", "'" + printable(name) + "' is no variable's name");
  return variables;
}

BackendPlan Backend::plan(const Problem& problem, const Attributes& options) const {
  deepbench_plan* handle = nullptr;
  const ProblemView given(problem);
  const ValuesView named(options);
  call(*table_, "plan", table_->plan, given.get(), named.get(), &handle);
  if (!handle) invalid_answer("plan", "no plan");
  return BackendPlan(table_, handle);
}

Attributes Backend::observe(int device) const {
  if (!table_->observe) return {};
  return emitted_facts(*table_, "observe", [&](const deepbench_sink& sink) {
    call(*table_, "observe", table_->observe, device, sink);
  });
}

Kernel Backend::chain(const std::vector<const Kernel*>& kernels) const {
  const auto* const chains = extension<deepbench_chain>(*table_, DEEPBENCH_CHAIN);
  if (!chains || !chains->link)
    throw RowFailure(Status::kUnsupported,
                     "backend " + name() + " cannot make several calls as one");
  std::vector<deepbench_kernel*> handles;
  for (const Kernel* kernel : kernels) handles.push_back(kernel->handle_.get());
  deepbench_kernel* chain = nullptr;
  call(*table_, "link", chains->link, handles.data(), handles.size(), &chain);
  if (!chain) invalid_answer("link", "no kernel");
  return Kernel(table_, chain, {});
}

double Backend::energy_joules(int device) const {
  const auto* const energy = extension<deepbench_energy>(*table_, DEEPBENCH_ENERGY);
  if (!energy || !energy->read)
    throw RowFailure(Status::kUnsupported, "backend " + name() + " has no counter of energy");
  double joules = 0;
  call(*table_, "energy", energy->read, device, &joules);
  if (!(joules >= 0) || !std::isfinite(joules))
    invalid_answer("energy", to_text(joules) + " joules");
  return joules;
}

void Backend::join(const std::shared_ptr<Group>& group) const {
  const auto* const collective = extension<deepbench_collective>(*table_, DEEPBENCH_COLLECTIVE);
  if (!collective || !collective->join)
    throw RowFailure(Status::kUnsupported, "backend " + name() + " has no collectives");
  // The group lives as long as the process, as plugin.h promises.
  static auto& kept = *new std::vector<std::unique_ptr<PluginGroupView>>();
  kept.push_back(std::make_unique<PluginGroupView>());
  PluginGroupView& joined = *kept.back();
  joined.group = group;
  const Member& self = group->self();
  joined.address = self.address;
  joined.view = {sizeof joined.view, group->rank(),   group->size(),          &joined,   exchange,
                 self.local_rank,    self.local_size, joined.address.c_str(), must_abort};
  call(*table_, "join", collective->join, &joined.view);
}

}  // namespace deepbench
