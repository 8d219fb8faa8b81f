// The statuses a row can end with, and the exceptions that carry a status and its reason to the
// row.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

enum class Status {
  kOk,
  kUnsupported,
  kInvalid,
  kOutOfMemory,
  kIncorrect,
  kMistrusted,
  kDeviceLost,
  kFailed
};

// The name in result files: "ok", "out_of_memory", ...
constexpr std::string_view name_of(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kUnsupported:
      return "unsupported";
    case Status::kInvalid:
      return "invalid";
    case Status::kOutOfMemory:
      return "out_of_memory";
    case Status::kIncorrect:
      return "incorrect";
    case Status::kMistrusted:
      return "mistrusted";
    case Status::kDeviceLost:
      return "device_lost";
    case Status::kFailed:
      break;
  }
  return "failed";
}

// The status of that name. Throws std::invalid_argument for an unknown name.
inline Status status_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Status::kFailed); ++i)
    if (name_of(static_cast<Status>(i)) == name) return static_cast<Status>(i);
  throw std::invalid_argument("no status is called '" + std::string(name) + "'");
}

// The request is invalid: a problem or an option that makes no sense. The message says what would
// be valid.
class DEEPBENCH_API InvalidProblem : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The plugin cannot be used at all: it is missing, is no plugin, has another ABI or finds no
// device.
class DEEPBENCH_API BackendUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The row ends with a status other than ok; the message is its reason.
class DEEPBENCH_API RowFailure : public std::runtime_error {
 public:
  RowFailure(Status status, const std::string& reason)
      : std::runtime_error(reason), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace deepbench
