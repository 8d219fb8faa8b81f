// Messages between ranks as bytes: consecutive fields, each text preceded by its length. All
// machines of a group have the same byte order, which the greeting verifies.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "deepbench/group/socket.hpp"

namespace deepbench {

class Packer {
 public:
  Packer& text(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  template <class Number>
  Packer& number(Number value) {
    static_assert(std::is_arithmetic_v<Number> && sizeof(Number) == 8, "int64_t, uint64_t, double");
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws ConnectionError if the message is too short.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  std::string text() { return std::string(take_bytes(number<uint64_t>())); }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view take_bytes(uint64_t count) {
    if (count > rest_.size()) throw ConnectionError("sent a truncated message");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace deepbench
