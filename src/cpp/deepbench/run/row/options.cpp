// Reading row options; one table of keys.
#include "deepbench/run/row/options.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using Text = const std::string&;
using Setter = std::function<void(RunOptions&, Text key, Text value)>;

// One of two words; the first stands for true.
bool parse_choice_of_two(Text key, Text value, Text yes, Text no) {
  if (value != yes && value != no)
    throw InvalidProblem(key + "=" + printable(value, 60) + ": must be " + yes + " or " + no);
  return value == yes;
}

int64_t parse_integer_at_least(Text key, Text value, int64_t smallest) {
  const int64_t number = parse_integer(key, value);
  if (number < smallest)
    throw InvalidProblem(key + "=" + printable(value, 60) + ": must be at least " +
                         std::to_string(smallest));
  return number;
}

// The plugin interface counts devices in 32 bits.
int64_t parse_device_number(Text key, Text value) {
  const int64_t number = parse_integer_at_least(key, value, 0);
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (number > kLargest)
    throw InvalidProblem(key + "=" + printable(value, 60) + ": must be at most " +
                         std::to_string(kLargest));
  return number;
}

Setter flag_setter(bool RunOptions::*field, const char* yes = "yes", const char* no = "no") {
  return [=](RunOptions& options, Text key, Text value) {
    options.*field = parse_choice_of_two(key, value, yes, no);
  };
}

Setter number_setter(int64_t RunOptions::*field, int64_t smallest = 0) {
  return [=](RunOptions& options, Text key, Text value) {
    options.*field = parse_integer_at_least(key, value, smallest);
  };
}

Setter text_setter(std::string RunOptions::*field) {
  return [=](RunOptions& options, Text, Text value) { options.*field = value; };
}

void set_time_limit(RunOptions& options, Text key, Text value) {
  options.time_limit_s = parse_real(key, value);
  if (options.time_limit_s < 0 || options.time_limit_s > 1e6)
    throw InvalidProblem(key + "=" + printable(value, 60) +
                         ": must be between 0 and 1000000 seconds");
}

void set_inputs(RunOptions& options, Text key, Text value) {
  if (value != "uniform" && value != "zeros" && value != "ones")
    throw InvalidProblem(key + "=" + printable(value, 60) + ": must be uniform, zeros or ones");
  options.inputs = value;
}

// The words between commas.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void set_devices(RunOptions& options, Text key, Text value) {
  options.devices.clear();
  for (const std::string& word : split(value)) {
    const int64_t device = parse_device_number(key, word);
    auto& all = options.devices;
    if (std::find(all.begin(), all.end(), device) != all.end())
      throw InvalidProblem(key + "=" + printable(value, 60) + ": device " + word +
                           " stands there twice");
    all.push_back(device);
  }
  if (!options.devices.empty()) options.device = options.devices.front();
}

void set_launch(RunOptions& options, Text key, Text value) {
  const std::vector<std::string> words = {"best", "graph", "stream", "isolated"};  // plugin.h's
  const auto at = std::find(words.begin(), words.end(), value);
  if (at == words.end())
    throw InvalidProblem(key + "=" + printable(value, 60) +
                         ": must be best, graph, stream or isolated");
  options.launch = static_cast<int>(at - words.begin());
}

void set_constant(RunOptions& options, Text, Text value) { options.constant = split(value); }

const std::vector<std::pair<std::string, Setter>>& setters() {
  static const std::vector<std::pair<std::string, Setter>> all = {
      {"device", [](RunOptions& options, Text key,
                    Text value) { options.device = parse_device_number(key, value); }},
      {"devices", set_devices},
      {"library", text_setter(&RunOptions::library)},
      {"algorithm", text_setter(&RunOptions::algorithm)},
      {"cache", flag_setter(&RunOptions::cold, "cold", "hot")},
      {"power", flag_setter(&RunOptions::sustained, "sustained", "rested")},
      {"samples", number_setter(&RunOptions::samples)},
      {"visits", number_setter(&RunOptions::visits, 1)},
      {"visit", number_setter(&RunOptions::visit, 1)},
      {"time_limit", set_time_limit},
      {"verify", flag_setter(&RunOptions::verify)},
      {"pad", flag_setter(&RunOptions::pad)},
      {"threads", number_setter(&RunOptions::threads)},
      {"seed", number_setter(&RunOptions::seed)},
      {"inputs", set_inputs},
      {"constant", set_constant},
      {"workspace", number_setter(&RunOptions::workspace)},
      {"launch", set_launch},
      {"once", flag_setter(&RunOptions::once)},
      {"energy", flag_setter(&RunOptions::energy)},
      {"ceilings", flag_setter(&RunOptions::ceilings)},
      {"cores", flag_setter(&RunOptions::share_cores, "share", "all")},
      {"check", flag_setter(&RunOptions::check)},
      {"position", number_setter(&RunOptions::position)},
  };
  return all;
}

}  // namespace

void RunOptions::apply(std::string_view text) {
  for (const auto& item : parse_key_values(text)) {
    const auto& all = setters();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const auto& entry) { return entry.first == item.key; });
    if (at == all.end()) {
      std::vector<std::string> names;
      std::string list;
      for (const auto& entry : all) names.push_back(entry.first), list += " " + entry.first;
      throw InvalidProblem("no option is called '" + printable(item.key, 60) + "'" +
                           suggestion(item.key, names) + "; there are" + list);
    }
    at->second(*this, item.key, item.value);
  }
}

bool RunOptions::should_verify(const Operation& operation) const {
  return verify && !once && operation.has_reference();
}

bool RunOptions::is_constant(std::string_view operands) const {
  const std::vector<std::string> all = split(operands);
  return std::all_of(all.begin(), all.end(), [this](const std::string& operand) {
    return std::find(constant.begin(), constant.end(), operand) != constant.end();
  });
}

std::string RunOptions::named_candidate() const {
  const bool selects_algorithm =
      algorithm == "default" || algorithm == "best" || algorithm == "exhaustive";
  return selects_algorithm ? "" : algorithm;
}

Attributes RunOptions::for_plugin() const {
  Attributes values;
  values.set("device", device);
  std::string list;
  for (const int64_t one : devices) list += (list.empty() ? "" : ",") + std::to_string(one);
  values.set("devices", list);
  values.set("library", library);
  values.set("cache", std::string(cold ? "cold" : "hot"));
  values.set("threads", threads);
  values.set("pad", int64_t{pad});
  values.set("seed", seed);
  values.set("workspace", workspace);
  values.set("inputs", inputs);
  std::string operands;
  for (const auto& operand : constant) operands += (operands.empty() ? "" : ",") + operand;
  values.set("constant", operands);
  return values;
}

Attributes RunOptions::for_reference() const {
  Attributes values = for_plugin();
  values.set("library", std::string("reference"));
  values.set("cache", std::string("hot"));
  return values;
}

MeasureOptions RunOptions::for_measuring(const Attributes& facts) const {
  constexpr double kRowLimitNs = 5e9;
  // More samples of each visit do not narrow an interval that comes from what differs between them.
  constexpr double kSpanShareOfVisits = 0.5;
  MeasureOptions measure;
  const auto parts = static_cast<double>(visits);
  measure.visits = visits;
  measure.exact_samples = samples / visits + (samples % visits != 0);
  measure.max_error *= std::sqrt(parts);  // of all visits together it is the option's
  measure.time_limit_ns =
      (time_limit_s > 0 ? time_limit_s * 1e9 : facts.real("row_limit_ns", kRowLimitNs)) / parts;
  measure.min_span_ns = facts.real("min_span_ns", measure.min_span_ns);
  measure.min_total_ns = facts.real("min_total_ns", measure.min_total_ns) / parts;
  if (visits > 1) measure.min_total_ns *= kSpanShareOfVisits;
  measure.timer_resolution_ns = facts.real("timer_resolution_ns", measure.timer_resolution_ns);
  if (sustained) {
    measure.min_load_ns = kLoadAfterIdleNs;
    // What a batch costs the host, while the device waits, is a small part of so long a span.
    measure.min_span_ns = std::max(measure.min_span_ns, kSustainedSpanNs);
    if (time_limit_s == 0) measure.time_limit_ns += kMaxLoadNs;
  }
  return measure;
}

}  // namespace deepbench
