// The altered places are fixed: those that are compared are random.
#include "alterations.hpp"

#include <limits>

namespace deepbench::testing {
namespace {

// A place that no grid always contains.
size_t somewhere(const Outputs& out) {
  return out.place(out.rows * 5 / 8, std::max<int64_t>(0, out.columns() * 5 / 8));
}

void for_each_of_a_tile(Outputs& out, int64_t height, int64_t width,
                        const std::function<void(size_t)>& change) {
  const int64_t rows = std::min(height, out.rows), columns = std::min(width, out.columns());
  const int64_t top = (out.rows - rows) * 5 / 8, left = (out.columns() - columns) * 5 / 8;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) change(out.place(top + i, left + j));
}

void leave_unwritten(Outputs& out, size_t place) {
  out.is_written.resize(out.values.size(), 1);
  out.is_written[place] = 0;
}

void swap_columns(Outputs& out) {
  const int64_t column = out.columns() / 2;
  for (int64_t i = 0; i < out.rows; ++i)
    std::swap(out.values[out.place(i, column)], out.values[out.place(i, column - 1)]);
}

std::map<std::string, Alteration> make_alterations() {
  constexpr int64_t kTile = 16, kAll = std::numeric_limits<int64_t>::max();
  std::map<std::string, Alteration> all;
  all["an element off by 8 units"] = {Floor::kElement, [](Outputs& out) {
                                        double& value = out.values[somewhere(out)];
                                        value += 8 * last_place(out.type, value);
                                      }};
  all["an element infinite"] = {
      Floor::kElement,
      [](Outputs& out) { out.values[somewhere(out)] = std::numeric_limits<double>::infinity(); }};
  all["an element unwritten"] = {Floor::kElement,
                                 [](Outputs& out) { leave_unwritten(out, somewhere(out)); }};
  all["a factor of 0.995"] = {Floor::kScale, [](Outputs& out) {
                                for (double& value : out.values) value *= 0.995;
                              }};
  all["a factor of 1.005"] = {Floor::kScale, [](Outputs& out) {
                                for (double& value : out.values) value *= 1.005;
                              }};
  all["a factor of 0.985"] = {Floor::kScale, [](Outputs& out) {
                                for (double& value : out.values) value *= 0.985;
                              }};
  all["a tile of zeros"] = {Floor::kStructural, [](Outputs& out) {
                              for_each_of_a_tile(out, kTile, kTile,
                                                 [&](size_t i) { out.values[i] = 0; });
                            }};
  all["a tile unwritten"] = {Floor::kStructural, [](Outputs& out) {
                               for_each_of_a_tile(out, kTile, kTile,
                                                  [&](size_t i) { leave_unwritten(out, i); });
                             }};
  all["a row of zeros"] = {Floor::kStructural, [](Outputs& out) {
                             for_each_of_a_tile(out, 1, kAll, [&](size_t i) { out.values[i] = 0; });
                           }};
  all["a column of zeros"] = {
      Floor::kStructural,
      [](Outputs& out) { for_each_of_a_tile(out, kAll, 1, [&](size_t i) { out.values[i] = 0; }); }};
  all["a column unwritten"] = {Floor::kStructural, [](Outputs& out) {
                                 for_each_of_a_tile(out, kAll, 1,
                                                    [&](size_t i) { leave_unwritten(out, i); });
                               }};
  all["1 % unwritten"] = {Floor::kStructural, [](Outputs& out) {
                            for (size_t i = 0; i < out.values.size(); i += 100)
                              leave_unwritten(out, i);
                          }};
  all["columns swapped"] = {Floor::kStructural, swap_columns};
  all["nothing written"] = {Floor::kStructural,
                            [](Outputs& out) { out.is_written.assign(out.values.size(), 0); }};
  return all;
}

}  // namespace

const std::map<std::string, Alteration>& alterations() {
  static const std::map<std::string, Alteration> all = make_alterations();
  return all;
}

}  // namespace deepbench::testing
