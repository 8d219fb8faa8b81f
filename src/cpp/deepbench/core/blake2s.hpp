// BLAKE2s (RFC 7693): a hash that a key turns into a message authentication code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

inline constexpr size_t kMaxBlake2sKeyBytes = 32;

// The hash of `message` with `bytes` bytes, 1 to 32. `key` has at most kMaxBlake2sKeyBytes bytes.
DEEPBENCH_API std::string blake2s(std::string_view key, std::string_view message, size_t bytes);

// Compares every byte, so that the duration does not reveal how many are equal.
DEEPBENCH_API bool is_equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace deepbench
