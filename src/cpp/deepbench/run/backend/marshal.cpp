// Converts named values at the plugin boundary.
#include "deepbench/run/backend/marshal.hpp"

#include <exception>
#include <string_view>
#include <utility>

#include "deepbench/run/backend/limits.hpp"
#include "deepbench/run/backend/plugin_text.hpp"

namespace deepbench {
namespace {

constexpr std::string_view kLibraryPrefix = "library.";

// The kind of thing whose name the fact's text is; empty for a free text.
std::string named_by(const std::string& fact) {
  if (fact == "name") return "the device's name";
  if (fact == "uuid" || fact == "pci_bus_id") return "the device's " + fact;
  if (fact == "library") return "the library's name";
  if (fact == "algorithm") return "the algorithm's name";
  return "";
}

// The reason why a fact cannot have this name; empty if it can.
std::string fault_of_fact_name(const char* name) {
  const std::string fault = *name ? fault_of_name(name) : "is empty";
  if (fault.empty()) return "";
  const bool is_library = bounded_text(name, kLibraryPrefix.size() - 1) == kLibraryPrefix;
  return (is_library ? "a library's name " : "a fact's name ") + fault;
}

}  // namespace

ValuesView::ValuesView(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.items()) {
    deepbench_value raw = {name.c_str(), DEEPBENCH_INTEGER, 0, 0, nullptr};
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      raw.integer = *integer;
    } else if (const auto* real = std::get_if<double>(&value)) {
      raw.kind = DEEPBENCH_REAL;
      raw.real = *real;
    } else {
      raw.kind = DEEPBENCH_TEXT;
      raw.text = std::get<std::string>(value).c_str();
    }
    values_.push_back(raw);
  }
}

ProblemView::ProblemView(const Problem& problem)
    : values_(problem.attributes()), problem_{problem.op().c_str(), values_.get()} {}

// Exceptions must not cross the plugin, whose frames lie between this and the core.
void Collector::receive(void* context, const deepbench_value* value) {
  auto& self = *static_cast<Collector*>(context);
  if (!value || !value->name || !self.fault_.empty()) return;
  try {
    self.add(*value);
  } catch (const std::exception& error) {
    self.refuse(error.what());
  }
}

void Collector::add(const deepbench_value& value) {
  if (answer_ == Answer::kCandidates) {
    if (value.kind == DEEPBENCH_TEXT && value.text) add_candidate(value.text);
    if (value.kind == DEEPBENCH_REAL && value.name == std::string_view("compiling_ns"))
      set(value.name, value.real);
    return;
  }
  if (++count_ > limits::kFacts)
    return refuse("it emits more than " + std::to_string(limits::kFacts) + " values");
  const std::string fault = fault_of_fact_name(value.name);
  if (!fault.empty()) return refuse(fault);
  const std::string name = value.name;
  if (value.kind == DEEPBENCH_INTEGER) set(name, value.integer);
  if (value.kind == DEEPBENCH_REAL) {
    const std::string unit_fault = value.text ? fault_of_name(value.text) : "";
    if (!unit_fault.empty()) return refuse("the unit of " + name + " " + unit_fault);
    set(name, value.real);
    if (value.text) set(name + ".unit", std::string(value.text));
  }
  if (value.kind == DEEPBENCH_TEXT && value.text) add_text(name, value.text);
}

void Collector::add_candidate(const char* id) {
  if (++count_ > limits::kCandidates)
    return refuse("it emits more than " + std::to_string(limits::kCandidates) + " candidates");
  const std::string fault = fault_of_name(id);
  if (!fault.empty()) return refuse("a candidate's id " + fault);
  candidates_.emplace_back(id);
}

void Collector::add_text(const std::string& name, const char* text) {
  const bool is_variable = answer_ == Answer::kVariables;
  const std::string named = is_variable ? "the variable " + name : named_by(name);
  const std::string fault =
      named.empty() ? "" : fault_of_name(text, is_variable ? limits::kText : limits::kName);
  if (!fault.empty()) return refuse(named + " " + fault);
  set(name, named.empty() ? shown_text(text) : text);
}

void Collector::set(const std::string& name, Value value) {
  const auto* const text = std::get_if<std::string>(&value);
  bytes_ += name.size() + (text ? text->size() : sizeof(double));
  if (bytes_ > limits::kFactBytes)
    return refuse("it emits more than " + std::to_string(limits::kFactBytes >> 10) +
                  " KiB of values");
  values_.set(name, std::move(value));
}

}  // namespace deepbench
