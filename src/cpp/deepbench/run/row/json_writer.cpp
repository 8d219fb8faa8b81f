// Writing JSON as text.
#include "deepbench/run/row/json_writer.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "deepbench/core/utf8.hpp"

namespace deepbench {
namespace {

// The code point of a character of at most three bytes.
unsigned code_point(std::string_view character) {
  constexpr std::array<unsigned, 4> kLeadBits = {0, 0x7f, 0x1f, 0x0f};
  unsigned code = static_cast<unsigned char>(character[0]) & kLeadBits[character.size()];
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

// Control sequences are escaped too, because rows are also printed on terminals.
void append_escaped(std::string_view character, std::string& out) {
  char buffer[8];
  if (character == "\"" || character == "\\") {
    out += '\\', out += character;
  } else if (is_control_sequence(character)) {
    std::snprintf(buffer, sizeof buffer, "\\u%04x", code_point(character));
    out += buffer;
  } else {
    out += character;
  }
}

}  // namespace

void JsonWriter::separate() {
  if (!first_) out_ += ", ";
  first_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ": ";
  first_ = true;  // the value follows without a comma
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}
JsonWriter& JsonWriter::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::value(int64_t number) {
  separate();
  out_ += std::to_string(number);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  out_ += to_text(Value(number));
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  out_ += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      out_ += "\xef\xbf\xbd";  // U+FFFD replaces invalid UTF-8
    } else {
      append_escaped(text.substr(0, length), out_);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::value(const Value& any) {
  if (const auto* integer = std::get_if<int64_t>(&any)) return value(*integer);
  if (const auto* real = std::get_if<double>(&any)) return value(*real);
  return value(std::string_view(std::get<std::string>(any)));
}

JsonWriter& JsonWriter::text_or_null(std::string_view text) {
  return text.empty() ? null() : value(text);
}

JsonWriter& JsonWriter::value(const Attributes& attributes) {
  begin_object();
  for (const auto& [name, content] : attributes.items()) member(name, content);
  return end_object();
}

}  // namespace deepbench
