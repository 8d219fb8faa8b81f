// Finding a member of a JSON object in its text, and replacing its value.
#include "deepbench/run/row/row_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The items between the brackets of an object or a list, which commas separate.
std::vector<std::string_view> split_items(std::string_view value, char open, char close) {
  value = trimmed(value);
  if (value.size() < 2 || value.front() != open || value.back() != close)
    throw std::invalid_argument("the text is no row");
  value = trimmed(value.substr(1, value.size() - 2));
  std::vector<std::string_view> items;
  if (value.empty()) return items;
  size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < value.size(); ++at) {
    const char c = value[at];
    if (quoted && c == '\\') {
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      ++depth;
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    } else if (!quoted && c == ',' && depth == 0) {
      items.push_back(trimmed(value.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  items.push_back(trimmed(value.substr(begin)));
  return items;
}

// The name of a member of an object, with its quotes.
std::string_view name_of(std::string_view member) {
  size_t end = 1;
  while (end < member.size() && member[end] != '"') end += member[end] == '\\' ? 2 : 1;
  return member.substr(0, end + 1);
}

// The value of the first member called `name`; empty if there is none. A view into `row`.
std::string_view value_of(std::string_view row, std::string_view name) {
  const std::string key = '"' + std::string(name) + '"';
  for (const std::string_view member : split_items(row, '{', '}')) {
    const size_t colon = member.find_first_not_of(kBlanks, key.size());
    const bool is_it = member.substr(0, key.size()) == key && colon != std::string_view::npos;
    if (is_it && member[colon] == ':') return trimmed(member.substr(colon + 1));
  }
  return {};
}

std::string replace_value(std::string_view row, std::string_view old, std::string_view value) {
  const size_t at = static_cast<size_t>(old.data() - row.data());
  return std::string(row.substr(0, at)) + std::string(value) +
         std::string(row.substr(at + old.size()));
}

std::string joined(char open, const std::vector<std::string_view>& items, char close) {
  std::string text(1, open);
  for (const std::string_view item : items)
    text += (text.size() > 1 ? ", " : "") + std::string(item);
  return text + close;
}

}  // namespace

std::string with_note(std::string_view row, std::string_view note) {
  const std::string_view old = value_of(row, "notes");
  std::vector<std::string_view> notes = split_items(old, '[', ']');
  JsonWriter added;
  added.value(note);
  notes.push_back(added.str());
  return replace_value(row, old, joined('[', notes, ']'));
}

std::string with_bound_figures(std::string_view row, std::string_view figures) {
  const std::string_view old = value_of(row, "bound");
  const std::vector<std::string_view> added = split_items(figures, '{', '}');
  std::vector<std::string_view> members;
  for (const std::string_view member : split_items(old, '{', '}')) {
    const bool is_replaced = std::any_of(added.begin(), added.end(), [&](std::string_view figure) {
      return name_of(figure) == name_of(member);
    });
    if (!is_replaced) members.push_back(member);
  }
  members.insert(members.end(), added.begin(), added.end());
  return replace_value(row, old, joined('{', members, '}'));
}

std::string with_thinned_samples(std::string_view row, size_t most) {
  const std::string_view old = value_of(row, "samples_ns");
  if (old.empty() || old == "null") return std::string(row);
  const std::vector<std::string_view> samples = split_items(old, '[', ']');
  if (samples.size() <= most) return std::string(row);
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(samples[sample_index(i, most, samples.size())]);
  const std::string fewer = replace_value(row, old, joined('[', kept, ']'));
  const std::string_view mark = value_of(fewer, "samples_kept");
  if (!mark.empty()) return replace_value(fewer, mark, "\"thinned\"");
  const size_t end = fewer.rfind('}');
  return fewer.substr(0, end) + ", \"samples_kept\": \"thinned\"" + fewer.substr(end);
}

}  // namespace deepbench
