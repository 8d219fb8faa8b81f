// The hello message of docs/reference/protocol.md: the backend, its devices and libraries as one
// line of JSON.
#include "deepbench/run/session/hello.hpp"

#include <algorithm>
#include <cstdlib>

#include "deepbench/core/status.hpp"
#include "deepbench/run/backend/limits.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/session/runner.hpp"

#ifndef DEEPBENCH_VERSION
#define DEEPBENCH_VERSION "unknown"
#endif

namespace deepbench {

std::string version() { return DEEPBENCH_VERSION; }

Attributes set_environment_defaults(const Attributes& wanted) {
  Attributes environment;
  for (const auto& [name, value] : wanted.items()) {
    setenv(name.c_str(), to_text(value).c_str(), 0);
    environment.set(name, std::string(std::getenv(name.c_str())));
  }
  return environment;
}

std::vector<std::pair<std::string, Attributes>> libraries_in(const Attributes& facts) {
  constexpr std::string_view kPrefix = "library.";
  std::vector<std::pair<std::string, Attributes>> all;
  for (const auto& [name, value] : facts.items()) {
    const size_t dot = name.rfind('.');
    if (name.compare(0, kPrefix.size(), kPrefix) != 0 || dot <= kPrefix.size()) continue;
    const std::string library = name.substr(kPrefix.size(), dot - kPrefix.size());
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const auto& entry) { return entry.first == library; });
    if (at == all.end()) at = all.insert(at, {library, Attributes()});
    at->second.set(name.substr(dot + 1), value);
  }
  return all;
}

namespace {

// Writes the facts of a device beside its index, which no fact replaces.
void write_facts(JsonWriter& json, const Attributes& facts) {
  for (const auto& [name, value] : facts.items())
    if (name.compare(0, 8, "warning.") != 0 && name != "index") json.member(name, value);
}

void write_warnings(JsonWriter& json, const Attributes& facts) {
  for (const auto& [name, value] : facts.items())
    if (name.compare(0, 8, "warning.") == 0) json.value(value);
}

void write_libraries(JsonWriter& json, const Attributes& facts) {
  json.key("libraries").begin_object();
  for (const auto& [name, of_library] : libraries_in(facts)) json.member(name, of_library);
  json.end_object();
}

// Writes the facts whose names begin with `prefix`, without the prefix: {"rnn": "bwd"}.
void write_facts_of(JsonWriter& json, const char* key, std::string_view prefix,
                    const Attributes& facts) {
  json.key(key).begin_object();
  for (const auto& [name, value] : facts.items())
    if (name.compare(0, prefix.size(), prefix) == 0) json.member(name.substr(prefix.size()), value);
  json.end_object();
}

// Writes the facts by which the parent plans rows.
void write_planning(JsonWriter& json, const Attributes& facts) {
  json.key("planning").begin_object();
  json.member("synonyms", facts.text("synonyms"));
  write_facts_of(json, "default_precisions", "default_precision.", facts);
  write_facts_of(json, "default_libraries", "default_library.", facts);
  write_facts_of(json, "estimates", "estimate.", facts);
  json.end_object();
}

// Writes the number of ranks, and the machine and device of each.
void write_group(JsonWriter& json, const Group& group,
                 const std::vector<RankDevice>& rank_devices) {
  json.key("ranks").begin_object().member("count", int64_t{group.size()});
  json.key("machines").begin_array();
  for (const Member& member : group.members()) json.value(member.host);
  json.end_array().key("devices").begin_array();
  for (const RankDevice& rank_device : rank_devices) {
    json.begin_object()
        .member("index", rank_device.device)
        .member_or_null("name", rank_device.name);
    json.member_or_null("uuid", rank_device.uuid).end_object();
  }
  json.end_array().end_object();
}

// Collects as many facts as a possibly broken backend provides.
struct Inspection {
  Attributes environment, facts;
  std::vector<Attributes> devices;
  std::string name, path, reason;
  size_t device_bytes = 0;

  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const std::exception& error) {
      if (reason.empty()) reason = error.what();
    }
  }

  void query_backend(const Backend& backend) {
    name = backend.name();
    path = backend.path();
    attempt([&] {
      environment = set_environment_defaults(
          backend.required_environment_variables(RunOptions().for_plugin()));
    });
    attempt([&] { facts = backend.describe(); });
    attempt([&] {
      const int count = backend.device_count();
      if (count == 0 && reason.empty()) reason = "it has no device here";
      for (int i = 0; i < count; ++i) add_device(backend.describe_device(i));
    });
  }

  void add_device(const Attributes& device) {
    for (const auto& [fact, value] : device.items())
      device_bytes += fact.size() + to_text(value).size();
    if (device_bytes > limits::kDeviceBytes)
      throw RowFailure(Status::kFailed, "backend " + name +
                                            ": describe_device: its devices tell more than " +
                                            std::to_string(limits::kDeviceBytes >> 20) + " MiB");
    devices.push_back(device);
  }
};

}  // namespace

std::string Runner::hello() const {
  JsonWriter json;
  json.begin_object().member("type", "hello").member("version", DEEPBENCH_VERSION);
  json.key("backend").begin_object().member("name", backend_.name());
  json.member("path", backend_.path()).member_or_null("reason", skipped_backends_);
  write_facts_of(json, "joint_phases", "joint_phase.", facts_);
  if (facts_.integer("simulated_time") != 0) json.member("simulated_time", true);
  if (const std::string folder = facts_.text("kernel_sources"); !folder.empty())
    json.member("kernel_sources", folder);
  json.end_object();
  write_planning(json, facts_);
  json.key("device").begin_object().member("index", defaults_.device);
  write_facts(json, device_);
  json.end_object().member("device_count", int64_t{device_count_});
  write_libraries(json, facts_);
  json.member("environment", environment_);
  json.member("threads", device_.integer("threads"));
  if (group_) write_group(json, *group_, rank_devices_);
  json.key("warnings").begin_array();
  for (const auto& warning : search_warnings()) json.value(warning);
  const std::string shared = shared_devices_warning(rank_devices_);
  if (!shared.empty()) json.value(shared);
  write_warnings(json, facts_);
  write_warnings(json, device_);
  json.end_array().end_object();
  return json.str();
}

std::string inspect(const std::string& backend, const std::vector<std::string>& plugin_paths) {
  Inspection found;
  found.name = backend;
  found.attempt([&] { found.query_backend(load_backend(backend, plugin_paths)); });
  JsonWriter json;
  json.begin_object().member("type", "hello").member("version", DEEPBENCH_VERSION);
  json.key("backend").begin_object().member("name", found.name).member_or_null("path", found.path);
  json.member_or_null("reason", found.reason).end_object();
  json.key("devices").begin_array();
  for (size_t i = 0; i < found.devices.size(); ++i) {
    json.begin_object().member("index", int64_t(i));
    write_facts(json, found.devices[i]);
    json.end_object();
  }
  json.end_array();
  write_libraries(json, found.facts);
  write_planning(json, found.facts);
  json.member("environment", found.environment);
  json.key("warnings").begin_array();
  write_warnings(json, found.facts);
  for (const auto& device : found.devices) write_warnings(json, device);
  json.end_array().end_object();
  return json.str();
}

}  // namespace deepbench
