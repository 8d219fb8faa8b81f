// Writes one JSON value as text, on one line. Numbers that JSON cannot hold become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"

namespace deepbench {

class DEEPBENCH_API JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& value(bool truth);
  JsonWriter& value(int64_t number);
  JsonWriter& value(double number);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const Value& any);
  template <class T>
  JsonWriter& value_or_null(bool known, const T& content) {
    return known ? value(content) : null();
  }
  // Writes text that is a JSON value.
  JsonWriter& literal(std::string_view json);
  // Writes null for an empty text.
  JsonWriter& text_or_null(std::string_view text);
  // Writes an object with all attributes.
  JsonWriter& value(const Attributes& attributes);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }
  JsonWriter& member_or_null(std::string_view name, std::string_view text) {
    key(name);
    return text_or_null(text);
  }

  const std::string& str() const { return out_; }

 private:
  void separate();
  std::string out_;
  bool first_ = true;
};

}  // namespace deepbench
