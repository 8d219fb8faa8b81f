// Looks up operations by name, and implements the checks that their specifications share.
#include "deepbench/core/operation.hpp"

#include <algorithm>

#include "deepbench/core/precision.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

ReferenceSource Operation::reference_source(const Problem&) const {
  return ReferenceSource::kInputs;
}

double Operation::verification_bytes(const Problem&) const { return 0; }

std::vector<Metric> Operation::derived_metrics(const Problem&, const Attributes&, double) const {
  return {};
}

std::vector<Baseline> Operation::baselines(const Problem&) const { return {}; }

ExpectedOutput Operation::expected_output(const Problem& problem, const KernelConditions&) const {
  throw RowFailure(Status::kUnsupported, problem.op() + " has no reference");
}

const Parameter* Operation::find(std::string_view name) const {
  for (const auto& parameter : parameters())
    if (parameter.name == name) return &parameter;
  return nullptr;
}

const Operation& find_operation(std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const Operation* operation : operations()) {
    if (operation->name() == name) return *operation;
    names.push_back(operation->name());
    list += (list.empty() ? "" : " ") + operation->name();
  }
  throw InvalidProblem("no operation is called '" + printable(name) + "'" +
                       suggestion(name.substr(0, 40), names) + "; there are " + list);
}

std::vector<std::string> Operation::default_problems(const Attributes&) const { return {}; }

double Operation::host_generated_elements(const Problem&) const { return 0; }

Parameter precision_parameter(const std::string& default_text) {
  Parameter parameter{"precision", ParameterKind::kChoice,
                      "type of the operands; tf32 stores float and multiplies with 11 bits",
                      default_text};
  parameter.synonyms = {"dtype", "type", "datatype", "data_type"};
  for (const auto& info : kPrecisions) {
    parameter.choices.emplace_back(info.name);
    for (const auto alias : info.aliases)
      if (!alias.empty()) parameter.aliases.emplace_back(alias, info.name);
  }
  return parameter;
}

Parameter precision_parameter(const std::string& default_text,
                              const std::vector<std::string>& names) {
  Parameter parameter = precision_parameter(default_text);
  if (std::find(names.begin(), names.end(), "tf32") == names.end())
    parameter.help = "type of the operands";
  const auto is_other = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) == names.end();
  };
  auto& choices = parameter.choices;
  choices.erase(std::remove_if(choices.begin(), choices.end(), is_other), choices.end());
  auto& aliases = parameter.aliases;
  aliases.erase(std::remove_if(aliases.begin(), aliases.end(),
                               [&](const auto& alias) { return is_other(alias.second); }),
                aliases.end());
  return parameter;
}

std::string to_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words) {
  const std::string lower = to_lower_case(word);
  const std::string* best = nullptr;
  size_t shortest = 3;  // a word more than two edits away is a different word
  for (const auto& candidate : words) {
    if (candidate == lower) return " (did you mean '" + candidate + "'?)";
    const size_t distance = edit_distance(lower, candidate);
    if (distance < shortest && distance < candidate.size()) best = &candidate, shortest = distance;
  }
  return best ? " (did you mean '" + *best + "'?)" : "";
}

int64_t checked_product(std::string_view what, std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product))
      throw InvalidProblem(std::string(what) + " does not fit 64 bits");
  }
  return product;
}

}  // namespace deepbench
