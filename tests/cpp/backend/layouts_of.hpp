// The layouts of a matrix product for tests.
#pragma once

#include <string>
#include <vector>

#include "../cpu/naive_gemm.hpp"
#include "../named_values.hpp"
#include "deepbench/backend/gemm_layout.hpp"

namespace deepbench::testing {

inline std::vector<plugin::GemmLayout> layouts_of(const cpu_test::Dimensions& d, bool trans_a,
                                                  bool trans_b, const std::string& precision,
                                                  const std::string& options = "",
                                                  bool in_place = false) {
  const NamedValues named(options);
  return plugin::gemm_layouts(cpu_test::gemm_of(d, trans_a, trans_b, precision),
                              plugin::Options(named.get()), in_place);
}

}  // namespace deepbench::testing
