// A reference that computes the output row by row, with a bound for each element. Small or exact
// outputs are compared in full. Of others, verification compares sampled rows, elements that are
// spread evenly over the whole, and a projection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"

namespace deepbench {

struct ExpectedRow {
  std::vector<double> values;
  std::vector<double> bounds;  // bounds of the errors, which are independent; 0: the value is exact
  std::vector<double> initial;  // values before the call; empty: calls overwrite the row
};

class DEEPBENCH_API RowReference {
 public:
  // The output has `height` rows, one after another, of `width` elements each.
  RowReference(int64_t height, int64_t width, const KernelConditions& conditions)
      : height_(height), width_(width), verification_seed_(conditions.verification_seed) {}
  virtual ~RowReference() = default;

  // Sets all elements of the row and ignores what it held. Several threads call it at the same
  // time.
  virtual void compute_row(int64_t row, ExpectedRow& out) const = 0;
  // Whether all bounds are 0.
  virtual bool is_exact() const = 0;
  // The growth of an output in place; empty for other outputs.
  virtual std::optional<ExpectedGrowth> growth() const { return {}; }
  // Rows that are compared in addition to sampled ones.
  virtual std::vector<int64_t> further_rows() const { return {}; }

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  uint64_t verification_seed() const { return verification_seed_; }

 private:
  const int64_t height_, width_;
  const uint64_t verification_seed_;
};

DEEPBENCH_API ExpectedOutput expected_rows(std::shared_ptr<const RowReference> reference);

// Host memory that expected_rows() takes.
DEEPBENCH_API double row_reference_bytes(int64_t width);

}  // namespace deepbench
