// Parses and prints problems according to the parameters of their operation.
#include "deepbench/core/problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxLine = 4096;

std::vector<std::string> parameter_names(const Operation& operation) {
  std::vector<std::string> names;
  for (const auto& parameter : operation.parameters()) names.push_back(parameter.name);
  return names;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// The canonical name of a choice. The text may contain capitals or be an alias: precision=FP16.
std::string canonical_choice(const Parameter& parameter, const std::string& text) {
  const std::string word = to_lower_case(text);
  for (const auto& choice : parameter.choices)
    if (choice == word) return choice;
  for (const auto& [alias, choice] : parameter.aliases)
    if (alias == word) return choice;
  throw InvalidProblem(parameter.name + "=" + printable(text) + ": must be one of " +
                       join(parameter.choices) + suggestion(word, parameter.choices));
}

// If `text` looks like a percentage, suggests the fraction to write instead, such as "; 95 % is
// sparsity=0.95"; otherwise empty. A number up to 1 is a percentage only with the sign.
std::string fraction_hint(const Parameter& parameter, std::string text) {
  const bool has_sign = !text.empty() && text.back() == '%';
  if (has_sign) text.pop_back();
  double percentage = 0;
  try {
    percentage = parse_real(parameter.name, text);
  } catch (const InvalidProblem&) {
    return "";
  }
  if (!parameter.is_fraction() || percentage > 100 * parameter.maximum) return "";
  if (percentage < 100 * parameter.minimum || (!has_sign && percentage <= 1)) return "";
  // Rounding turns 99.9 / 100 into 0.999.
  const double fraction = std::round(percentage * 1e10) / 1e12;
  return "; " + to_text(Value(percentage)) + " % is " + parameter.name + "=" +
         to_text(Value(fraction));
}

double parse_real_or_hint(const Parameter& parameter, const std::string& text) {
  try {
    return parse_real(parameter.name, text);
  } catch (const InvalidProblem& error) {
    throw InvalidProblem(error.what() + fraction_hint(parameter, text));
  }
}

Value parse_value(const Parameter& parameter, const std::string& text) {
  if (parameter.kind == ParameterKind::kChoice) return canonical_choice(parameter, text);
  const bool whole = parameter.kind == ParameterKind::kInteger;
  const Value value = whole ? Value(parse_integer(parameter.name, text))
                            : Value(parse_real_or_hint(parameter, text));
  const double size = whole ? double(std::get<int64_t>(value)) : std::get<double>(value);
  if (size < parameter.minimum || size > parameter.maximum) {
    const double bound = size < parameter.minimum ? parameter.minimum : parameter.maximum;
    const Value limit = whole ? Value(int64_t(bound)) : Value(bound);
    throw InvalidProblem(parameter.name + "=" + printable(text) + ": must be at " +
                         (size < parameter.minimum ? "least " : "most ") + to_text(limit) +
                         fraction_hint(parameter, text));
  }
  return value;
}

const std::string* find_text(const std::vector<KeyValue>& items, const std::string& key) {
  for (const auto& item : items)
    if (item.key == key) return &item.value;
  return nullptr;
}

bool applies(const Parameter& parameter, const Attributes& attributes) {
  return parameter.condition_name.empty() ||
         attributes.text(parameter.condition_name) == parameter.condition_value;
}

// The attributes in the operation's order. A value comes from the line, else from `defaults`, else
// from the parameter's default.
Attributes attributes_with_defaults(const Operation& operation, const std::vector<KeyValue>& given,
                                    const std::vector<KeyValue>& defaults) {
  Attributes attributes;
  for (const auto& parameter : operation.parameters()) {
    const std::string* text = find_text(given, parameter.name);
    if (!applies(parameter, attributes)) {
      if (text)
        throw InvalidProblem(parameter.name + " is a parameter only where " +
                             parameter.condition_name + "=" + parameter.condition_value +
                             "; here it is " + attributes.text(parameter.condition_name));
      continue;
    }
    if (!text) text = find_text(defaults, parameter.name);
    if (!text && !parameter.default_text.empty()) text = &parameter.default_text;
    if (!text)
      throw InvalidProblem(operation.name() + " needs " + parameter.name +
                           "=; for example: " + operation.example());
    Value value = parse_value(parameter, *text);
    if (parameter.omitted_at_default && to_text(value) == parameter.default_text) continue;
    attributes.set(parameter.name, std::move(value));
  }
  return attributes;
}

void refuse_unknown(const Operation& operation, const std::vector<KeyValue>& given) {
  const auto names = parameter_names(operation);
  for (const auto& item : given) {
    if (!operation.find(item.key))
      throw InvalidProblem(operation.name() + " has no attribute '" + item.key + "'" +
                           suggestion(item.key, names) + "; it has " + join(names));
  }
}

}  // namespace

Problem Problem::parse(std::string_view line, std::string_view defaults) {
  if (line.size() > kMaxLine)
    throw InvalidProblem("the problem has " + std::to_string(line.size()) +
                         " characters; the limit is " + std::to_string(kMaxLine));
  const size_t begin = std::min(line.find_first_not_of(" \t\r\n"), line.size());
  const size_t end = std::min(line.find_first_of(" \t\r\n", begin), line.size());
  if (begin == end) throw InvalidProblem("the problem is empty");

  const Operation& operation = find_operation(line.substr(begin, end - begin));
  std::vector<KeyValue> given = parse_key_values(line.substr(end));
  const auto is_metadata = [](const KeyValue& item) { return item.key == "application"; };
  Attributes metadata;
  for (const auto& item : given)
    if (is_metadata(item)) metadata.set(item.key, item.value);
  given.erase(std::remove_if(given.begin(), given.end(), is_metadata), given.end());

  refuse_unknown(operation, given);
  return Problem(operation, attributes_with_defaults(operation, given, parse_key_values(defaults)),
                 std::move(metadata));
}

Problem::Problem(const Operation& operation, Attributes attributes, Attributes metadata)
    : operation_(&operation), attributes_(std::move(attributes)), metadata_(std::move(metadata)) {
  operation.validate(*this);
}

const std::string& Problem::op() const { return operation_->name(); }

std::string Problem::str() const {
  std::string out = op();
  for (const auto& [name, value] : attributes_.items())
    out += " " + name + "=" + quoted(to_text(value));
  return out;
}

}  // namespace deepbench
