// Implements attributes and the grammar of key=value text.
#include "deepbench/core/attributes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "deepbench/core/status.hpp"
#include "deepbench/core/utf8.hpp"

namespace deepbench {
namespace {

// std::to_chars and std::from_chars ignore the locale that the embedding program has set.
std::string shortest_text(double value) {
  std::array<char, 32> buffer;
  char* const begin = buffer.data();
  char* const end = begin + buffer.size();
  // Whole numbers print without an exponent as long as they are exact.
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  const std::to_chars_result written = whole
                                           ? std::to_chars(begin, end, static_cast<int64_t>(value))
                                           : std::to_chars(begin, end, value);
  return std::string(begin, written.ptr);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && !is_space(c)) || c == 0x7f;
}
bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Reads one key=value item per call of next().
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool next(KeyValue& out) {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
    if (position_ == text_.size()) return false;
    out.key = read_key();
    out.value = position_ < text_.size() && text_[position_] == '"' ? read_quoted(out.key)
                                                                    : read_unquoted();
    if (out.value.empty()) throw InvalidProblem("'" + out.key + "=' has no value");
    return true;
  }

 private:
  std::string read_key() {
    const size_t begin = position_;
    while (position_ < text_.size() && is_key_character(text_[position_])) ++position_;
    if (position_ == begin || position_ == text_.size() || text_[position_] != '=') {
      size_t end = position_;
      while (end < text_.size() && !is_space(text_[end])) ++end;
      throw InvalidProblem("'" + printable(text_.substr(begin, end - begin), 60) +
                           "' is not of the form key=value");
    }
    ++position_;
    return std::string(text_.substr(begin, position_ - 1 - begin));
  }

  std::string read_unquoted() {
    const size_t begin = position_;
    while (position_ < text_.size() && !is_space(text_[position_])) {
      if (is_control(text_[position_]) || text_[position_] == '"')
        throw InvalidProblem("'" + printable(text_.substr(begin, position_ + 1 - begin), 60) +
                             "' holds a character that a plain value cannot; quote the value");
      ++position_;
    }
    return std::string(text_.substr(begin, position_ - begin));
  }

  std::string read_quoted(const std::string& key) {
    std::string value;
    for (++position_; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == '"') {
        ++position_;
        if (position_ < text_.size() && !is_space(text_[position_]))
          throw InvalidProblem("a space must follow the closing quote of '" + key + "'");
        return value;
      }
      if (c == '\\' && position_ + 1 < text_.size()) c = text_[++position_];
      if (is_control(c) || c == '\n' || c == '\r')
        throw InvalidProblem("'" + key + "' holds a control character");
      value += c;
    }
    throw InvalidProblem("the quote of '" + key + "' is not closed");
  }

  std::string_view text_;
  size_t position_ = 0;
};

// At most the first `max_bytes` bytes; a UTF-8 sequence is never split.
std::string_view utf8_prefix(std::string_view text, size_t max_bytes) {
  size_t end = std::min(text.size(), max_bytes);
  if (end < text.size())
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Replaces control characters. A byte that belongs to no character counts as one.
std::string with_controls_replaced(std::string_view text, char replacement) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0 || is_control_sequence(character))
      out += replacement;
    else
      out += character;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
  return with_controls_replaced(utf8_prefix(text, max_bytes), '?');
}

std::string one_line(std::string_view text, size_t max_bytes) {
  const std::string_view prefix = utf8_prefix(text, max_bytes);
  const std::string out = with_controls_replaced(prefix, ' ');
  return prefix.size() < text.size() ? out + " ..." : out;
}

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return shortest_text(*real);
  return std::get<std::string>(value);
}

void Attributes::set(std::string_view name, Value value) {
  for (auto& item : items_) {
    if (item.first == name) {
      item.second = std::move(value);
      return;
    }
  }
  items_.emplace_back(name, std::move(value));
}

const Value* Attributes::find(std::string_view name) const {
  for (const auto& item : items_)
    if (item.first == name) return &item.second;
  return nullptr;
}

int64_t Attributes::integer(std::string_view name, int64_t fallback) const {
  const Value* value = find(name);
  const auto* integer = value ? std::get_if<int64_t>(value) : nullptr;
  return integer ? *integer : fallback;
}

double Attributes::real(std::string_view name, double fallback) const {
  const Value* value = find(name);
  if (!value) return fallback;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(value);
  return real ? *real : fallback;
}

std::string Attributes::text(std::string_view name, std::string_view fallback) const {
  const Value* value = find(name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : std::string(fallback);
}

bool Attributes::operator==(const Attributes& other) const { return items_ == other.items_; }

std::vector<KeyValue> parse_key_values(std::string_view text) {
  std::vector<KeyValue> out;
  Scanner scanner(text);
  KeyValue item;
  while (scanner.next(item)) {
    for (const auto& earlier : out)
      if (earlier.key == item.key) throw InvalidProblem("'" + item.key + "' is given twice");
    out.push_back(item);
  }
  return out;
}

std::string quoted(std::string_view value) {
  bool plain = !value.empty();
  for (char c : value) plain = plain && !is_space(c) && c != '"' && c != '\\' && c != ';';
  if (plain) return std::string(value);
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

int64_t parse_integer(std::string_view key, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string shown = std::string(key) + "=" + printable(text);
  if (error == std::errc::result_out_of_range)
    throw InvalidProblem(shown + " does not fit 64 bits");
  if (error != std::errc() || end != text.data() + text.size())
    throw InvalidProblem(shown + " is not an integer");
  return value;
}

double parse_real(std::string_view key, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidProblem(std::string(key) + "=" + printable(text) + " is not a number");
  return value;
}

}  // namespace deepbench
