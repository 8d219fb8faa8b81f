// Compiles kernels that the cache does not contain.
#include "kernels/precompile.hpp"

#include <exception>
#include <mutex>
#include <set>
#include <tuple>

#include "deepbench/backend/host_timer.hpp"
#include "deepbench/backend/parallel_for.hpp"
#include "device.hpp"
#include "kernels/compile.hpp"

namespace deepbench::cuda {
namespace {

// Returns the expressions that this process has not processed yet and marks them as processed. Each
// one is compiled at most once, whether or not that succeeds.
std::vector<std::string> claim_unseen(const std::string& file,
                                      const std::vector<std::string>& expressions,
                                      int architecture) {
  static std::mutex mutex;
  static std::set<std::tuple<std::string, std::string, int>> seen;
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> fresh;
  for (const std::string& expression : expressions)
    if (seen.insert({file, expression, architecture}).second) fresh.push_back(expression);
  return fresh;
}

}  // namespace

double precompile(const std::string& file, const std::vector<std::string>& expressions,
                  int device) {
  const plugin::HostTimer timer;
  try {
    const int architecture = device_facts(device).architecture();
    const std::vector<std::string> fresh = claim_unseen(file, expressions, architecture);
    if (fresh.empty()) return 0;
    const size_t missing = compile_missing(read_kernel_source(file), fresh, architecture,
                                           plugin::KernelCache(plugin::cache_folder()));
    return missing > 0 ? timer.elapsed_ns() : 0;
  } catch (const std::exception&) {  // the error is reported when the kernel is requested
    return 0;
  }
}

size_t compile_missing(const Source& source, const std::vector<std::string>& expressions,
                       int device_architecture, const plugin::KernelCache& cache) {
  if (!cache.is_writable()) return 0;
  const std::string compiler = compiler_identity();
  struct MissingFunction {
    std::string key, expression;
  };
  std::vector<MissingFunction> missing;
  for (const std::string& expression : expressions) {
    const std::string key = cache_key(source, expression, device_architecture, compiler);
    if (!cache.load(key)) missing.push_back({key, expression});
  }
  plugin::parallel_for(missing.size(), [&](size_t i, size_t) {
    try {
      cache.store(missing[i].key, compile(source, missing[i].expression, device_architecture));
    } catch (const std::exception&) {  // the error is reported when the kernel is requested
    }
  });
  return missing.size();
}

}  // namespace deepbench::cuda
