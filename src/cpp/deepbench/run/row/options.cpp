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

// One option: sets its field from a text, and writes the field as a text that sets the same value;
// "" if the field is not set.
struct Option {
  std::string key;
  std::function<void(RunOptions&, Text key, Text value)> set;
  std::function<std::string(const RunOptions&)> value;
  bool is_of_one_row = false;  // it belongs to the line of a row, not to the command
};

Option flag(const char* key, bool RunOptions::*field, const char* yes = "yes",
            const char* no = "no") {
  return {key,
          [=](RunOptions& options, Text name, Text value) {
            options.*field = parse_choice_of_two(name, value, yes, no);
          },
          [=](const RunOptions& options) { return options.*field ? yes : no; }};
}

Option number(const char* key, int64_t RunOptions::*field, int64_t smallest = 0) {
  return {key,
          [=](RunOptions& options, Text name, Text value) {
            options.*field = parse_integer_at_least(name, value, smallest);
          },
          [=](const RunOptions& options) { return std::to_string(options.*field); }};
}

Option word(const char* key, std::string RunOptions::*field) {
  return {key, [=](RunOptions& options, Text, Text value) { options.*field = value; },
          [=](const RunOptions& options) { return options.*field; }};
}

Option seconds(const char* key, double RunOptions::*field) {
  return {key,
          [=](RunOptions& options, Text name, Text value) {
            const double given_s = parse_real(name, value);
            if (given_s < 0 || given_s > 1e6)
              throw InvalidProblem(name + "=" + printable(value, 60) +
                                   ": must be between 0 and 1000000 seconds");
            options.*field = given_s;
          },
          [=](const RunOptions& options) { return to_text(options.*field); }};
}

Option of_one_row(Option option) {
  option.is_of_one_row = true;
  return option;
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

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
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

std::string devices_text(const RunOptions& options) {
  std::vector<std::string> words;
  for (const int64_t device : options.devices) words.push_back(std::to_string(device));
  return join(words);
}

const std::vector<std::string>& launches() {
  static const std::vector<std::string> all = {"best", "graph", "stream",
                                               "isolated"};  // the names of plugin.h
  return all;
}

void set_launch(RunOptions& options, Text key, Text value) {
  const auto at = std::find(launches().begin(), launches().end(), value);
  if (at == launches().end())
    throw InvalidProblem(key + "=" + printable(value, 60) +
                         ": must be best, graph, stream or isolated");
  options.launch = static_cast<int>(at - launches().begin());
}

void set_constant(RunOptions& options, Text, Text value) { options.constant = split(value); }

const std::vector<Option>& all_options() {
  using Options = const RunOptions&;
  static const std::vector<Option> all = {
      {"device",
       [](RunOptions& options, Text key, Text value) {
         options.device = parse_device_number(key, value);
       },
       [](Options options) { return std::to_string(options.device); }},
      {"devices", set_devices, devices_text},
      word("library", &RunOptions::library),
      word("algorithm", &RunOptions::algorithm),
      of_one_row(seconds("budget", &RunOptions::budget_s)),
      of_one_row(word("first", &RunOptions::first)),
      flag("cache", &RunOptions::cold, "cold", "hot"),
      flag("power", &RunOptions::sustained, "sustained", "rested"),
      number("samples", &RunOptions::samples),
      number("soak", &RunOptions::soak),
      number("visits", &RunOptions::visits, 1),
      of_one_row(number("visit", &RunOptions::visit, 1)),
      seconds("time_limit", &RunOptions::time_limit_s),
      flag("verify", &RunOptions::verify),
      number("verify_seed", &RunOptions::verify_seed),
      flag("pad", &RunOptions::pad),
      number("threads", &RunOptions::threads),
      number("seed", &RunOptions::seed),
      {"inputs", set_inputs, [](Options options) { return options.inputs; }},
      {"constant", set_constant, [](Options options) { return join(options.constant); }},
      number("workspace", &RunOptions::workspace),
      {"launch", set_launch, [](Options options) { return launches()[size_t(options.launch)]; }},
      flag("once", &RunOptions::once),
      flag("energy", &RunOptions::energy),
      flag("ceilings", &RunOptions::ceilings),
      flag("cores", &RunOptions::share_cores, "share", "all"),
      of_one_row(flag("check", &RunOptions::check)),
      of_one_row(number("position", &RunOptions::position)),
  };
  return all;
}

}  // namespace

void RunOptions::apply(std::string_view text) {
  for (const auto& item : parse_key_values(text)) {
    const auto& all = all_options();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Option& option) { return option.key == item.key; });
    if (at == all.end()) {
      std::vector<std::string> names;
      std::string list;
      for (const auto& option : all) names.push_back(option.key), list += " " + option.key;
      throw InvalidProblem("no option is called '" + printable(item.key, 60) + "'" +
                           suggestion(item.key, names) + "; there are" + list);
    }
    at->set(*this, item.key, item.value);
  }
}

std::vector<std::pair<std::string, std::string>> RunOptions::values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Option& option : all_options())
    if (!option.is_of_one_row) values.emplace_back(option.key, option.value(*this));
  return values;
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
  values.set("devices", devices_text(*this));
  values.set("library", library);
  values.set("cache", std::string(cold ? "cold" : "hot"));
  values.set("threads", threads);
  values.set("pad", int64_t{pad});
  values.set("seed", seed);
  values.set("workspace", workspace);
  values.set("inputs", inputs);
  values.set("constant", join(constant));
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
  // In a row of several visits the interval comes from the differences between visits, which more
  // samples in each visit do not reduce.
  constexpr double kSpanShareOfVisits = 0.5;
  MeasureOptions measure;
  const auto parts = static_cast<double>(visits);
  measure.visits = visits;
  measure.exact_samples = samples / visits + (samples % visits != 0);
  measure.max_error *= std::sqrt(parts);  // the option's error is that of all visits together
  measure.time_limit_ns =
      (time_limit_s > 0 ? time_limit_s * 1e9 : facts.real("row_limit_ns", kRowLimitNs)) / parts;
  measure.min_span_ns = facts.real("min_span_ns", measure.min_span_ns);
  measure.min_total_ns = facts.real("min_total_ns", measure.min_total_ns) / parts;
  if (visits > 1) measure.min_total_ns *= kSpanShareOfVisits;
  measure.timer_resolution_ns = facts.real("timer_resolution_ns", measure.timer_resolution_ns);
  if (is_sustained()) {
    measure.min_load_ns = kLoadAfterIdleNs;
    // In a span this long, the host's overhead of a batch, during which the device waits, is
    // negligible.
    measure.min_span_ns = std::max(measure.min_span_ns, kSustainedSpanNs);
    if (time_limit_s == 0) measure.time_limit_ns += kMaxLoadNs;
  }
  if (soak > 0) {
    measure.soak_calls = soak;
    measure.max_batch = std::clamp(soak / kMinSoakBatches, int64_t{1}, measure.max_batch);
  }
  return measure;
}

}  // namespace deepbench
