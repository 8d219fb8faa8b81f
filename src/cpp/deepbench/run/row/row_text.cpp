// Changes to the text of a row.
#include "deepbench/run/row/row_text.hpp"

#include <stdexcept>
#include <vector>

#include "deepbench/run/row/json_text.hpp"
#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {

std::string with_note(std::string_view row, std::string_view note) {
  const std::string_view old = member_value(row, "notes");
  std::vector<std::string_view> notes = split_items(old, '[', ']');
  JsonWriter added;
  added.value(note);
  notes.push_back(added.str());
  return replace_value(row, old, join_items('[', notes, ']'));
}

std::string with_bound_figures(std::string_view row, std::string_view figures) {
  const std::string_view old = member_value(row, "bound");
  return replace_value(row, old, with_members(old, figures));
}

std::string with_thinned_samples(std::string_view row, size_t most) {
  const std::string_view old = member_value(row, "samples_ns");
  if (old.empty() || old == "null") return std::string(row);
  const std::vector<std::string_view> samples = split_items(old, '[', ']');
  if (samples.size() <= most) return std::string(row);
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(samples[sample_index(i, most, samples.size())]);
  const std::string fewer = replace_value(row, old, join_items('[', kept, ']'));
  const std::string_view mark = member_value(fewer, "samples_kept");
  if (!mark.empty()) return replace_value(fewer, mark, "\"thinned\"");
  const size_t end = fewer.rfind('}');
  return fewer.substr(0, end) + ", \"samples_kept\": \"thinned\"" + fewer.substr(end);
}

std::string visit_line(std::string_view row, int64_t visit) {
  JsonWriter json;
  json.begin_object().member("type", "visit").member("visit", visit);
  json.key("row").literal(row).end_object();
  return json.str();
}

std::string row_of_visit(std::string_view visit) {
  const std::string_view row = member_value(visit, "row");
  if (row.empty()) throw std::invalid_argument("the text is no visit");
  return std::string(row);
}

}  // namespace deepbench
