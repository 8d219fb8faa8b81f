// Writing JSON as text.
#include "deepbench/run/row/json_writer.hpp"

#include <cmath>
#include <cstdio>

#include "deepbench/core/utf8.hpp"

namespace deepbench {
namespace {

void append_escaped(char c, std::string& out) {
  char buffer[8];
  if (c == '"' || c == '\\') {
    out += '\\', out += c;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
    out += buffer;
  } else {
    out += c;
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
    } else if (length == 1) {
      append_escaped(text[0], out_);
    } else {
      out_ += text.substr(0, length);
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
