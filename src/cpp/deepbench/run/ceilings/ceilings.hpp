// The limits of a device, measured as problems through the same loop as rows when a row first needs
// them: arithmetic per precision, bandwidth of each level of the memory hierarchy, the latency of
// the smallest call, and the time of a step that needs the one before. Rows are judged by what was
// measured, and never by what another row reached, so that their order does not matter.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/run/ceilings/ceiling.hpp"

namespace deepbench {

struct Row;

struct MemoryLevel {
  std::string name;   // "l1", "l2", "llc", "memory"
  int64_t bytes = 0;  // capacity; 0 for the memory itself
  // The part of a row's bytes that may have remained in the next smaller level since the previous
  // call: the capacity of that level, or 0 if there is none or the row is cold.
  int64_t inner_bytes = 0;
};

// Operations of the smallest product that is measured for an arithmetic ceiling, and of the
// smallest row that may raise one.
constexpr int64_t kSmallestCeilingProduct = 1024;
constexpr double kLeastCeilingFlops =
    2.0 * kSmallestCeilingProduct * kSmallestCeilingProduct * kSmallestCeilingProduct;

// The ceilings of one row. Zero: unknown.
struct RowCeilings {
  std::string precision;  // the precision of the arithmetic ceiling
  MemoryLevel level;      // the level that the row's bytes come from
  double flops_per_s = 0, bytes_per_s = 0, latency_ns = 0, step_ns = 0;
  // The texts of their keys. Empty: the row has no such ceiling.
  std::string arithmetic_key, bandwidth_key, latency_key, serial_key;
};

// A step that depends on the previous one: the bytes that a step passes to the next one, in whole
// words, and the bytes that each step reads besides.
struct SerialStep {
  int64_t bytes = 0, weights = 0;
};

// A measured problem of a ceiling.
struct MeasuredProblem {
  double median_ns = 0;  // 0: it cannot be run
  std::shared_ptr<const Row> row;
};

class DEEPBENCH_API Ceilings {
 public:
  using MeasureProblem = std::function<MeasuredProblem(const std::string& problem)>;
  // Receives each figure that is measured or raised, with the row that shows it: the row of the
  // best problem, or the row to which the ceiling is raised.
  using Report = std::function<void(const CeilingKey& key, const Row& row, bool is_raised)>;

  // `device` are the facts of describe_device. Figures in `given` are not measured again.
  Ceilings(const Attributes& device, CeilingConditions conditions, MeasureProblem measure,
           Report report = nullptr, const GivenCeilings& given = {});

  // The smallest level that holds the working set. The operands of cold rows, and of rows larger
  // than the last-level cache, come from the memory.
  MemoryLevel level_of(double bytes, bool cold) const;
  // The next smaller level. Requires that `level` has inner bytes.
  MemoryLevel inner_level(const MemoryLevel& level) const;

  // Whether for_problem() has to measure a ceiling.
  bool needs_measuring(const Problem& problem, const MemoryLevel& level,
                       const std::string& computed = "") const;
  // The ceilings of a row whose bytes come from `level`. Measures those that are unknown.
  // `computed` is the precision in which the row computes; "": the problem's.
  RowCeilings for_problem(const Problem& problem, const MemoryLevel& level,
                          const std::string& computed = "");

  // Floating-point operations per second of the fastest of several large products; 0 if none runs.
  double arithmetic(const std::string& precision);
  // Bytes per second of a level: the better of read and copy for the memory, read for a cache.
  double bandwidth(const MemoryLevel& level);
  // Time of the smallest product in nanoseconds; 0 if it does not run.
  double latency_ns(const std::string& precision);
  // Time in nanoseconds of one of many such steps, each of which reads what all threads wrote in
  // the previous one; 0 if the backend cannot measure it.
  double step_ns(const SerialStep& step);

  // Reports a ceiling that `row` exceeded steadily, if its figure is higher than the measured one
  // and than those of earlier rows. The measured figure stays.
  void raise_arithmetic(const std::string& precision, double flops_per_s, const Row& row);
  void raise_bandwidth(const MemoryLevel& level, double bytes_per_s, const Row& row);
  // Marks a figure as doubtful: its next use measures it again, unless that has happened already,
  // and the better of both figures counts.
  void doubt_arithmetic(const std::string& precision);
  void doubt_bandwidth(const MemoryLevel& level);

 private:
  // The best figure of a ceiling's problems, and the row that shows it.
  struct Best {
    double figure = 0;
    std::shared_ptr<const Row> row;

    void offer(double other, const MeasuredProblem& measured);
  };
  struct Entry {
    double figure = 0;        // the best measured figure; 0: the ceiling cannot be measured
    double raised = 0;        // the highest figure of a row above it
    int measurements = 0;     // number of measurements
    bool is_current = false;  // false: the next use measures it
  };

  CeilingKey arithmetic_key(const std::string& precision) const;
  CeilingKey bandwidth_key(const MemoryLevel& level) const;
  CeilingKey latency_key(const std::string& precision) const;
  CeilingKey serial_key(const SerialStep& step) const;
  bool is_current(const CeilingKey& key) const;
  double current_figure(const CeilingKey& key, const std::function<Best()>& measure);
  void raise(const CeilingKey& key, double figure, const Row& row);
  void doubt(const CeilingKey& key);

  Best measure_arithmetic(const std::string& precision);
  Best measure_bandwidth(const MemoryLevel& level);
  void offer_read_bandwidth(int64_t bytes, Best& best);

  std::vector<MemoryLevel> levels_;
  int64_t last_level_bytes_ = 0;
  const CeilingConditions conditions_;
  const MeasureProblem measure_;
  const Report report_;
  std::map<std::string, Entry> entries_;  // the key is the text of a CeilingKey
};

}  // namespace deepbench
