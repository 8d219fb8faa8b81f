// Limits on the amount of data that a backend may return. A backend that returns more is refused,
// and a text that is too long is shortened, so that a faulty plugin fills neither the memory nor a
// result file. docs/reference/plugin.md lists the limits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepbench::limits {

constexpr size_t kBackendName = 64;       // characters
constexpr size_t kName = 256;             // characters of any other name
constexpr size_t kText = 4000;            // bytes to which a text is shortened
constexpr size_t kFacts = 1000;           // facts that one function emits
constexpr size_t kFactBytes = 128 << 10;  // bytes of the names and texts of these facts
constexpr size_t kDeviceBytes = 4 << 20;  // bytes of the facts of all devices
constexpr size_t kCandidates = 4096;      // candidates of one problem
constexpr int32_t kDevices = 1024;        // devices of one host
constexpr size_t kTableBytes = 64 << 10;  // bytes of the table of functions
constexpr double kLongestNs = 1e18;       // longest time of a batch: thirty years

}  // namespace deepbench::limits
