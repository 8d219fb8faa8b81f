// The fake backend of tests/plugins for C++ tests: runs a script and reads its results through the
// plugin interface. tests/plugins/README.md describes the language of scripts.
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

// The plugin under a script; a kernel keeps the script that was set when it was prepared.
inline Backend fake_backend(const std::string& script, const std::string& plugin = "fake") {
  setenv("DEEPBENCH_FAKE_SCRIPT", script.c_str(), 1);
  return load_plugin(plugin_path(plugin));
}

inline Kernel fake_kernel(const std::string& script,
                          const std::string& problem = "gemm m=4 n=4 k=4",
                          const Attributes& options = {}) {
  return fake_backend(script).plan(Problem::parse(problem), options).prepare();
}

// Runs one row of a problem line under a script. Ceilings are off by default, because they are
// problems too.
inline Row fake_row(const std::string& script, const std::string& line,
                    const std::string& options = "ceilings=no",
                    const std::string& plugin = "fake") {
  fake_backend(script, plugin);
  return Runner(plugin_path(plugin), options).run(line, 0);
}

// A scripted clock for the measuring loop, through the plugin interface.
inline BatchTimer scripted_clock(const std::string& script) {
  const auto kernel = std::make_shared<Kernel>(fake_kernel(script));
  return [kernel](uint64_t count) { return kernel->time_batch(count); };
}

// A script line `time` with these numbers.
inline std::string time_script_line(const std::vector<double>& values,
                                    const std::string& end = "hold") {
  std::string line = "time";
  for (double value : values) line += " " + to_text(Value(value));
  return line + " " + end + "\n";
}

inline std::vector<double> repeat_pattern(std::vector<double> pattern, int count) {
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
