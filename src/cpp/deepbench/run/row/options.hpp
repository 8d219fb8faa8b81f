// The options of a row, written as key=value text (docs/reference/protocol.md lists the keys).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/measure/options.hpp"

namespace deepbench {

struct DEEPBENCH_API RunOptions {
  int64_t device = 0;
  // With ranks: the device of each local rank. In a single process: the devices that a collective
  // may use. Empty: all devices, or `device`.
  std::vector<int64_t> devices;
  std::string library;
  std::string algorithm = "default";  // "best", "exhaustive", or a candidate's id
  // For the search of `best`: the seconds that it may take beyond its share of the row, which other
  // rows have left over, and the candidate that it tries first.
  double budget_s = 0;
  std::string first;
  bool cold = false;
  bool sustained = false;  // the device is loaded without pause; otherwise it may rest
  int64_t samples = 0;
  int64_t soak = 0;  // > 0: make this many consecutive calls in the sustained regime
  // Number of processes that measure the row, among which its samples are divided.
  int64_t visits = 1;
  int64_t visit = 1;        // number of this visit, from 1
  double time_limit_s = 0;  // 0: the backend's default
  bool verify = true;
  int64_t verify_seed = 0;  // selects the places that are verified; 0: drawn for each row
  bool pad = true;
  int64_t threads = 0;
  int64_t seed = 1;
  std::string inputs = "uniform";
  std::vector<std::string> constant;  // operands that are constant in their application
  int64_t workspace = 32 << 20;
  int launch = 0;  // a deepbench_launch
  bool once = false;
  bool energy = false;  // measure the energy of one call over a separate span
  bool ceilings = true;
  bool share_cores =
      true;  // divide a machine's cores among its ranks; an option of the process, not of a row
  bool check = false;     // only check whether the row could run; prepare and measure nothing
  int64_t position = -1;  // -1: counts up

  // Sets the options in `text` and keeps the others. Throws InvalidProblem for an unknown key or
  // value.
  void apply(std::string_view text);
  // Every option that holds for all rows of a run, with its value as a text that apply() accepts,
  // or "".
  std::vector<std::pair<std::string, std::string>> values() const;

  // Whether verification is requested and the operation has a reference.
  bool should_verify(const Operation& operation) const;
  // Whether the application treats the operand, or each of several ("a,b"), as constant.
  bool is_constant(std::string_view operands) const;
  // The candidate that `algorithm` names; "" for default, best and exhaustive.
  std::string named_candidate() const;
  // Whether the device is loaded without pause: a soak needs no other option.
  bool is_sustained() const { return sustained || soak > 0; }
  // Whether this visit measures what is measured once, such as the energy and the baselines.
  bool is_first_visit() const { return visit == 1; }
  // Whether the row selects its algorithm among candidates.
  bool selects_algorithm() const { return algorithm == "best" || algorithm == "exhaustive"; }
  // The options as a plugin receives them, see plugin.h.
  Attributes for_plugin() const;
  // The options for a kernel of the backend's reference, which always has hot caches.
  Attributes for_reference() const;
  // `device` holds the facts of describe_device.
  MeasureOptions for_measuring(const Attributes& device) const;
};

}  // namespace deepbench
