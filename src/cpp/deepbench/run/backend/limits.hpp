// How much a backend may say. A backend that says more is refused, and a text that is longer than
// needed is shortened, so that a faulty plugin neither fills the memory nor a result file.
// docs/reference/plugin.md lists the limits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepbench::limits {

constexpr size_t kBackendName = 64;       // characters
constexpr size_t kName = 256;             // characters of any other name
constexpr size_t kText = 4000;            // bytes of a text, which is shortened to them
constexpr size_t kFacts = 1000;           // that one function emits
constexpr size_t kFactBytes = 128 << 10;  // of their names and texts together
constexpr size_t kDeviceBytes = 4 << 20;  // of the facts of all devices together
constexpr size_t kCandidates = 4096;      // of one problem
constexpr int32_t kDevices = 1024;        // of one host
constexpr size_t kTableBytes = 64 << 10;  // of the table of functions
constexpr double kLongestNs = 1e18;       // of a batch: thirty years

}  // namespace deepbench::limits
