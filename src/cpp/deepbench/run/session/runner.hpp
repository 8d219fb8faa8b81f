// Reads problem lines and makes their rows, for the worker, deepbench_run and embedding programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/sustained_load.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/ceilings/ceilings.hpp"
#include "deepbench/run/chain/chain.hpp"
#include "deepbench/run/fleet/fleet_coordinator.hpp"
#include "deepbench/run/row/baselines.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/row_steps.hpp"
#include "deepbench/run/row/trial_slot.hpp"

namespace deepbench {

// Runs one problem on one backend. Never throws for a problem that cannot be run: the row's status
// reports it. Without `ceilings` the row is not assessed.
DEEPBENCH_API Row run(const Backend& backend, const Problem& problem,
                      const RunOptions& options = {}, Ceilings* ceilings = nullptr);

class DEEPBENCH_API Runner {
 public:
  // `backend` is "auto", a name or a path; `options` is key=value text, the defaults of every row.
  // Sets the environment variables that the backend asks for, unless the user has set them. Throws
  // BackendUnavailable, or InvalidProblem for an invalid option. With a group this process is one
  // of its ranks: all ranks make the row of a collective together, and every other row at the same
  // time, each on its device. A rank uses the device of its local rank unless `options` name one.
  explicit Runner(const std::string& backend, const std::string& options = "",
                  const std::vector<std::string>& plugin_paths = {},
                  std::shared_ptr<Group> group = nullptr);
  ~Runner();  // tells the other ranks that there are no more rows

  Runner(const Runner&) = delete;  // its ceilings call it
  Runner& operator=(const Runner&) = delete;

  // The hello message of docs/reference/protocol.md, one line of JSON.
  std::string hello() const;
  // `line` is a problem with its options after ';'. The caller skips blank lines and comments.
  Row run(std::string_view line, int64_t position);
  // Times the calls of a line for which is_chain_line() is true as one call. Never throws for a
  // chain that cannot be run.
  ChainRow run_chain(std::string_view line);
  // Called before each problem of a ceiling is measured, with the problem and, the first time in a
  // row, with the row's JSON: if measuring the ceiling ends the process, the caller still has the
  // row. Called with two empty strings after the measurement.
  using MeasuringCallback = std::function<void(const std::string& problem, const std::string& row)>;
  void on_measuring_ceiling(MeasuringCallback call) { measuring_callback_ = std::move(call); }
  // Called with the line of each ceiling as soon as it is measured or raised, before the row that
  // needs it ends.
  using CeilingCallback = std::function<void(const std::string& line)>;
  void on_ceiling(CeilingCallback call) { ceiling_callback_ = std::move(call); }
  // Takes over a ceiling that another process measured: "ceiling KEY ; figure=NUMBER raised=NUMBER"
  // (see docs/reference/protocol.md). Must be called before the first row. Throws InvalidProblem.
  void give_ceiling(std::string_view line) { parse_given_ceiling(line, given_ceilings_); }
  // Sets a function that is called when the backend can run a row, before the row is prepared and
  // measured. It is not called for a row that the backend refuses or that is only checked. `call`
  // must not throw.
  void on_admitted(std::function<void()> call) { admitted_callback_ = std::move(call); }
  // For ranks other than 0: makes the rows that rank 0 runs, until there are no more. Throws
  // RowFailure when the connection to rank 0 is lost.
  void follow_rank_zero();
  // Destroys the last row's kernel, which otherwise lives until the next row (see TrialSlot).
  void release() { slot_.trial.reset(); }

  // On rank 0, waits until all other ranks are ready for the next row, so that no row begins while
  // one of them is ending. Throws RankDisconnected.
  void wait_for_ranks() {
    if (group_) group_->wait_until_all_are_ready();
  }
  // True once a row lost its device: no further row can run in this process.
  bool device_lost() const { return device_lost_; }
  const Backend& backend() const { return backend_; }

 private:
  void start();
  void join();
  void assign_device(const std::string& options);
  RankDevice rank_device() const;
  void apply_environment();
  // Parses "problem ; options". Stores the problem's text and, once the options are read, the
  // position in `steps` first, so that a row that cannot be parsed still shows its problem.
  RowRequest parse_row_line(std::string_view line, RowSteps& steps) const;
  RowContext begin_row(RowSteps& steps);
  void run_alone(RowSteps& steps);
  void run_collective(std::string_view line, RowSteps& steps);
  void run_in_fleet(std::string_view line, RowSteps& steps);
  Selection select_on_rank_zero(const RowRequest& request);
  void check_library(const std::string& library) const;
  Ceilings& ceilings(const RunOptions& options, const Attributes& device);
  MeasuredProblem announce_and_measure(const std::string& problem,
                                       const std::function<MeasuredProblem()>& measure);

  std::shared_ptr<Group> group_;  // nullptr: this process runs alone
  RunOptions defaults_;
  std::string skipped_backends_;
  std::string no_collectives_reason_;  // why the backend cannot run collectives; "": it can
  Backend backend_;
  int device_count_ = 0;
  Attributes environment_;
  std::vector<RankDevice> rank_devices_;  // devices of all ranks, on rank 0
  Attributes facts_, device_;             // facts of the backend, and of its device at the start
  // The key is the device and the number of threads.
  std::map<std::pair<int64_t, int64_t>, Ceilings> ceilings_;
  Baselines baselines_;
  DeviceActivity activity_;
  GivenCeilings given_ceilings_;
  MeasuringCallback measuring_callback_;
  CeilingCallback ceiling_callback_;
  std::function<void()> admitted_callback_;
  std::string row_to_announce_;  // as JSON, with the next problem of a ceiling; "": none
  bool device_lost_ = false;
  TrialSlot slot_;  // the last row's trial, destroyed when the next row begins
};

// The version of deepbench: "0.4.0".
DEEPBENCH_API std::string version();

// The hello message of a backend that may be unusable, with the reason, and with all `devices`
// instead of one. Never throws. Used by `env`.
DEEPBENCH_API std::string inspect(const std::string& backend,
                                  const std::vector<std::string>& plugin_paths = {});

}  // namespace deepbench
