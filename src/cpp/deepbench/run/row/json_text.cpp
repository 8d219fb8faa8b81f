// Finding the members of a JSON object in its text, and replacing their values.
#include "deepbench/run/row/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace deepbench {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<std::string_view> split_items(std::string_view value, char open, char close) {
  value = trimmed(value);
  if (value.size() < 2 || value.front() != open || value.back() != close)
    throw std::invalid_argument(std::string("the text does not begin with '") + open +
                                "' and end with '" + close + "'");
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

std::string_view name_of_member(std::string_view member) {
  size_t end = 1;
  while (end < member.size() && member[end] != '"') end += member[end] == '\\' ? 2 : 1;
  return member.substr(0, end + 1);
}

std::string_view member_value(std::string_view object, std::string_view name) {
  const std::string key = '"' + std::string(name) + '"';
  for (const std::string_view member : split_items(object, '{', '}')) {
    const size_t colon = member.find_first_not_of(kBlanks, key.size());
    const bool is_it = member.substr(0, key.size()) == key && colon != std::string_view::npos;
    if (is_it && member[colon] == ':') return trimmed(member.substr(colon + 1));
  }
  return {};
}

double number_of(std::string_view value) {
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

double member_number(std::string_view object, std::string_view name) {
  return number_of(member_value(object, name));
}

std::string replace_value(std::string_view text, std::string_view old, std::string_view value) {
  const size_t at = static_cast<size_t>(old.data() - text.data());
  return std::string(text.substr(0, at)) + std::string(value) +
         std::string(text.substr(at + old.size()));
}

std::string join_items(char open, const std::vector<std::string_view>& items, char close) {
  std::string text(1, open);
  for (const std::string_view item : items)
    text += (text.size() > 1 ? ", " : "") + std::string(item);
  return text + close;
}

std::string with_members(std::string_view object, std::string_view added) {
  const std::vector<std::string_view> more = split_items(added, '{', '}');
  std::vector<std::string_view> members;
  for (const std::string_view member : split_items(object, '{', '}')) {
    const bool is_replaced = std::any_of(more.begin(), more.end(), [&](std::string_view one) {
      return name_of_member(one) == name_of_member(member);
    });
    if (!is_replaced) members.push_back(member);
  }
  members.insert(members.end(), more.begin(), more.end());
  return join_items('{', members, '}');
}

}  // namespace deepbench
