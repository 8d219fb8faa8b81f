// The fake backend of tests/plugins as tests use it: a script, and what the core makes of it
// through the seam. The language of scripts is described in tests/plugins/fake_backend.c.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/session/runner.hpp"
#include "paths.hpp"

namespace deepbench::testing {

inline std::string plugin_path(const std::string& name) {
  return std::string(plugin_folder()) + "/libdeepbench_" + name + ".so";
}

// The plugin under a script; kernels keep the script that they were prepared with.
inline Backend fake_backend(const std::string& script, const std::string& plugin = "fake") {
  setenv("DEEPBENCH_FAKE_SCRIPT", script.c_str(), 1);
  return load_plugin(plugin_path(plugin));
}

inline Kernel fake_kernel(const std::string& script,
                          const std::string& problem = "gemm m=4 n=4 k=4",
                          const Attributes& options = {}) {
  return fake_backend(script).prepare(Problem::parse(problem), options);
}

// One row of a problem line under a script, by default without ceilings: they are problems too.
inline Row fake_row(const std::string& script, const std::string& line,
                    const std::string& options = "ceilings=no",
                    const std::string& plugin = "fake") {
  fake_backend(script, plugin);
  return Runner(plugin_path(plugin), options).run(line, 0);
}

// A scripted clock for the measuring loop, through the seam like any other.
inline BatchTimer scripted_clock(const std::string& script) {
  const auto kernel = std::make_shared<Kernel>(fake_kernel(script));
  return [kernel](uint64_t count) { return kernel->time_batch(count); };
}

// A `time` line from numbers.
inline std::string time_line(const std::vector<double>& values, const std::string& end = "hold") {
  std::string line = "time";
  for (double value : values) line += " " + to_text(Value(value));
  return line + " " + end + "\n";
}

inline std::vector<double> repeat(std::vector<double> pattern, int count) {
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.insert(all.end(), pattern.begin(), pattern.end());
  return all;
}

template <class... More>
std::vector<double> concatenate(std::vector<double> first, const More&... more) {
  (first.insert(first.end(), more.begin(), more.end()), ...);
  return first;
}

}  // namespace deepbench::testing
