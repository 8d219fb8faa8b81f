// Problem lines in, rows out: what the worker, deepbench_run and embedding programs use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/ceilings/ceilings.hpp"
#include "deepbench/run/fleet/fleet_coordinator.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/trial.hpp"

namespace deepbench {

// One problem on one backend. Never throws for a problem that cannot be run: the status says so.
// Ceilings are not measured unless `ceilings` is given.
DEEPBENCH_API Row run(const Backend& backend, const Problem& problem,
                      const RunOptions& options = {}, Ceilings* ceilings = nullptr);

class DEEPBENCH_API Runner {
 public:
  // `backend` is "auto", a name or a path; `options` key=value text, the defaults of every row.
  // Sets the environment variables that the backend asks for where the user has not. Throws
  // BackendUnavailable, or InvalidProblem for an option that cannot be. With a group this process
  // is one of its ranks: rows of collectives are made by all of them together, all others by each
  // of them on its own device, at the same time. Each rank takes the device of its place on the
  // machine, unless `options` name one.
  explicit Runner(const std::string& backend, const std::string& options = "",
                  const std::vector<std::string>& plugin_paths = {},
                  std::shared_ptr<Group> group = nullptr);
  ~Runner();  // tells the other ranks that there is no more

  Runner(const Runner&) = delete;  // its ceilings measure through it
  Runner& operator=(const Runner&) = delete;

  // The hello of docs/results.md, one line of JSON.
  std::string hello() const;
  // A problem line with its options after ';'. Blank lines and comments are the caller's.
  Row run(std::string_view line, int64_t position);
  // Called before each problem of a ceiling is measured, with the problem and, the first time in a
  // row, with the row as it is: should the ceiling end the process, the row need not be lost.
  // Called with neither when it has been measured.
  using CeilingCallback = std::function<void(const std::string& problem, const std::string& row)>;
  void on_ceiling(CeilingCallback call) { ceiling_callback_ = std::move(call); }
  // For the ranks beside 0: makes the rows that rank 0 runs, until it has no more. Throws
  // RowFailure when rank 0 is lost, or this rank to it.
  void follow_rank_zero();
  // Destroys what the last row left, which the next row would do otherwise (see RowBuilder).
  void release() { last_trial_.reset(); }
  // True once a row ended so: nothing more can run in this process.
  bool device_lost() const { return device_lost_; }
  const Backend& backend() const { return backend_; }

 private:
  void start();
  void join();
  void assign_device(const std::string& options);
  RankDevice rank_device() const;
  void apply_environment();
  void make_collective_row(std::string_view line, const Problem& problem, RunOptions& options,
                           Row& row);
  void make_fleet_row(std::string_view line, const Problem& problem, RunOptions& options, Row& row);
  Row select_on_rank_zero(const Problem& problem, const RunOptions& options);
  void make_row(const Problem& problem, const RunOptions& options, Row& row);
  void check_library(const std::string& library) const;
  Ceilings& ceilings(const RunOptions& options, const Attributes& device);
  double measure_announced(const std::string& problem, const std::function<double()>& measured);

  std::shared_ptr<Group> group_;  // nullptr: alone
  RunOptions defaults_;
  std::string skipped_backends_;
  std::string no_collectives_reason_;  // why the backend has none, of several ranks
  Backend backend_;
  int device_count_ = 0;
  Attributes environment_;
  std::vector<RankDevice> rank_devices_;  // of all ranks, on rank 0
  Attributes facts_, device_;  // of the backend, and of its device as it was at the start
  std::map<std::pair<int64_t, int64_t>, Ceilings> ceilings_;  // by device and threads
  CeilingCallback ceiling_callback_;
  const Row* unannounced_row_ = nullptr;  // the row in hand
  bool device_lost_ = false;
  std::unique_ptr<Trial>
      last_trial_;  // the last row's, destroyed when the next begins: see RowBuilder
};

// Of deepbench: "0.4.0".
DEEPBENCH_API std::string version();

// A hello of a backend that may not be usable, with a reason then, and with `devices`, all of
// them, in the place of the one. Never throws. For `env`.
DEEPBENCH_API std::string inspect(const std::string& backend,
                                  const std::vector<std::string>& plugin_paths = {});

}  // namespace deepbench
