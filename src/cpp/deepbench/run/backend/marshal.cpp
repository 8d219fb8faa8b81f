// Named values across the plugin boundary.
#include "deepbench/run/backend/marshal.hpp"

namespace deepbench {

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

void Collector::receive(void* context, const deepbench_value* value) {
  if (!value || !value->name) return;
  auto& self = *static_cast<Collector*>(context);
  const std::string name = value->name;
  if (value->kind == DEEPBENCH_INTEGER) self.values_.set(name, value->integer);
  if (value->kind == DEEPBENCH_REAL) {
    self.values_.set(name, value->real);
    if (value->text) self.values_.set(name + ".unit", std::string(value->text));
  }
  if (value->kind == DEEPBENCH_TEXT && value->text) {
    const std::string_view text = value->text;
    self.values_.set(name, one_line(text, text.size()));
    self.repeated_.push_back(value->text);
  }
}

}  // namespace deepbench
