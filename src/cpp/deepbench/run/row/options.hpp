// What a row may be asked for; written as key=value text (docs/results.md lists the keys).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/measure/options.hpp"

namespace deepbench {

class FleetCoordinator;
class Group;

struct DEEPBENCH_API RunOptions {
  int64_t device = 0;
  // Of ranks the devices on each machine, by their place on it; of a process alone those that a
  // collective may take. Empty: as many as there are, or `device`.
  std::vector<int64_t> devices;
  std::string library;
  std::string algorithm = "default";  // "best", "exhaustive", or a candidate's id
  bool cold = false;
  bool steady = false;
  int64_t samples = 0;
  double time_limit_s = 0;  // 0: the backend's
  bool verify = true;
  bool pad = true;
  int64_t threads = 0;
  int64_t seed = 1;
  std::string inputs = "uniform";
  std::vector<std::string> constant;  // operands that are constant in their application
  int64_t workspace = 32 << 20;
  int launch = 0;  // a deepbench_launch
  bool once = false;
  bool energy = false;  // of one call, over a span of its own
  bool ceilings = true;
  bool share_cores = true;  // of several ranks on one machine; of the process' own options alone
  bool check = false;       // only whether the row could run: nothing is prepared or measured
  int64_t position = -1;    // -1: counts up
  // The device's, below which it rests between batches (measure/rest_policy.hpp); 0: unknown. No
  // key.
  double most_clock_mhz = 0;
  // The ranks that make the row together, where its operation is a collective; nullptr: this
  // process alone. No key: it is what the process was started as.
  Group* group = nullptr;
  // The ranks that make the row each by itself, at the same time; nullptr: this process alone.
  FleetCoordinator* fleet = nullptr;

  // Sets what `text` gives and keeps the rest. Throws InvalidProblem for an unknown key or value.
  void apply(std::string_view text);

  // Whether the operation's results are to be verified, and can be.
  bool should_verify(const Operation& operation) const;
  // Whether the operand, or each of several ("a,b"), is.
  bool is_constant(std::string_view operands) const;
  // The candidate that `algorithm` names; "" where it names a way to choose.
  std::string named_candidate() const;
  // Whether the algorithm is to be chosen among candidates.
  bool selects_algorithm() const { return algorithm == "best" || algorithm == "exhaustive"; }
  // For the plugin's slots, see plugin.h. `candidate` "" is the library's default.
  Attributes for_plugin(const std::string& candidate) const;
  // For a kernel of the backend's own reference: hot, whatever is timed.
  Attributes for_reference() const;
  // `device` are the facts of describe_device.
  MeasureOptions for_measuring(const Attributes& device) const;
};

}  // namespace deepbench
