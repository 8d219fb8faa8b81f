// Finds a kernel by name in memory, loads it from the cache on disk, or compiles it.
#include "kernels/jit.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "deepbench/backend/kernel_cache.hpp"
#include "device.hpp"
#include "kernels/compile.hpp"
#include "kernels/sources.hpp"
#include "libraries.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

constexpr uint32_t kDefaultSharedBytes = 48 << 10;  // the limit that needs no attribute

// An extern "C" kernel is named by an identifier. Any other expression names an instance of a
// template.
bool is_identifier(const std::string& expression) {
  return expression.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         std::string::npos;
}

struct Module {
  nvidia::CUmodule module = nullptr;
  std::string entry;
};

std::optional<Module> try_load(const CompiledImage& image) {
  Module loaded{nullptr, image.entry};
  if (driver().cuModuleLoadData(&loaded.module, image.code.data()) != nvidia::CUDA_SUCCESS)
    return std::nullopt;
  return loaded;
}

// Loads the module from the cache or, if the cache has no loadable image, compiles it and adds the
// duration to `compiling_ns`. The reason why a cached image cannot be loaded is not reported: if
// the device is at fault, loading the new image fails as well.
Module load_or_compile(const Source& source, const std::string& expression, int device,
                       double& compiling_ns) {
  const int architecture = device_facts(device).architecture();
  const plugin::KernelCache cache(plugin::cache_folder());
  const std::string key = cache_key(source, expression, architecture, compiler_identity());
  if (const std::optional<CompiledImage> cached = cache.load(key))
    if (const std::optional<Module> module = try_load(*cached)) return *module;
  const Clock::time_point begin = Clock::now();
  const CompiledImage image = compile(source, expression, architecture);
  Module module{nullptr, image.entry};
  CUDA_CHECK(driver().cuModuleLoadData(&module.module, image.code.data()));
  compiling_ns += ns_since(begin);
  cache.store(key, image);
  return module;
}

}  // namespace

// All kernels that the process has requested. Modules are never unloaded.
class Functions {
 public:
  static Functions& instance() {
    static auto* functions = new Functions();
    return *functions;
  }

  // `read_source` is called only if the module is not loaded yet.
  template <class ReadSource>
  const Function& get(const std::string& name, const std::string& expression, const Stream& stream,
                      ReadSource read_source, double& compiling_ns) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Function>& function = functions_[{stream.device(), name, expression}];
    if (function) return *function;
    stream.make_current();
    const std::string instance = is_identifier(expression) ? "" : expression;
    const auto module_key = std::make_tuple(stream.device(), name, instance);
    auto found = modules_.find(module_key);
    if (found == modules_.end())
      found = modules_
                  .emplace(module_key,
                           load_or_compile(read_source(), instance, stream.device(), compiling_ns))
                  .first;
    auto made = std::make_unique<Function>();
    made->name_ = expression;
    const std::string& entry = instance.empty() ? expression : found->second.entry;
    CUDA_CHECK(driver().cuModuleGetFunction(&made->function_, found->second.module, entry.c_str()));
    function = std::move(made);
    return *function;
  }

 private:
  using Key = std::tuple<int, std::string, std::string>;  // device, source, expression
  std::mutex mutex_;
  std::map<Key, Module> modules_;
  std::map<Key, std::unique_ptr<Function>> functions_;
};

void Function::permit_shared_memory(const LaunchShape& shape) const {
  if (shape.shared_bytes > kDefaultSharedBytes)
    CUDA_CHECK(driver().cuFuncSetAttribute(function_,
                                           nvidia::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           int(shape.shared_bytes)));
}

void Function::require_resident(const LaunchShape& shape, int device) const {
  if (!driver().cuLaunchKernelEx || !driver().cuOccupancyMaxActiveBlocksPerMultiprocessor)
    plugin::unsupported("this driver has no cuLaunchKernelEx, which launches blocks together");
  permit_shared_memory(shape);
  int blocks = 0;
  CUDA_CHECK(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function_, int(shape.block_x * shape.block_y * shape.block_z), shape.shared_bytes));
  require_resident_blocks(shape, uint64_t(std::max(blocks, 0)), device_facts(device));
}

void require_resident_blocks(const LaunchShape& shape, uint64_t per_multiprocessor,
                             const DeviceFacts& device) {
  if (!device.cooperative_launch)
    plugin::unsupported("this device does not launch blocks that wait for one another");
  const uint64_t resident = per_multiprocessor * uint64_t(device.multiprocessors);
  if (shape.blocks() > resident)
    plugin::unsupported(std::to_string(shape.blocks()) + " blocks wait for one another, but only " +
                        std::to_string(resident) + " of them fit on this device at the same time");
}

void Function::launch_with(const LaunchShape& shape, nvidia::cudaStream_t stream,
                           void** arguments) const {
  permit_shared_memory(shape);
  if (shape.cooperative) {
    nvidia::CUlaunchAttribute attribute = {};
    attribute.id = nvidia::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    const nvidia::CUlaunchConfig config = {
        shape.grid_x,  shape.grid_y,       shape.grid_z, shape.block_x, shape.block_y,
        shape.block_z, shape.shared_bytes, stream,       &attribute,    1};
    CUDA_CHECK(driver().cuLaunchKernelEx(&config, function_, arguments, nullptr));
    return;
  }
  CUDA_CHECK(driver().cuLaunchKernel(function_, shape.grid_x, shape.grid_y, shape.grid_z,
                                     shape.block_x, shape.block_y, shape.block_z,
                                     shape.shared_bytes, stream, arguments, nullptr));
}

const Function& function(const std::string& file, const std::string& expression,
                         const Stream& stream) {
  return planned_function(file, expression, stream).kernel;
}

PlannedFunction planned_function(const std::string& file, const std::string& expression,
                                 const Stream& stream) {
  const Clock::time_point begin = Clock::now();
  double compiling_ns = 0;
  const Function& kernel = Functions::instance().get(
      file, expression, stream, [&] { return read_kernel_source(file); }, compiling_ns);
  return {kernel, ns_since(begin), compiling_ns};
}

void PlannedFunction::describe(plugin::Sink& sink) const {
  sink.real("planning_ns", planning_ns);
  if (compiling_ns > 0) sink.real("compiling_ns", compiling_ns);
}

const Function& function_from_text(const std::string& name, const std::string& source,
                                   const std::string& expression, const Stream& stream) {
  double compiling_ns = 0;
  return Functions::instance().get(
      name + "\n" + source, expression, stream, [&] { return source_of_text(name, source); },
      compiling_ns);
}

}  // namespace deepbench::cuda
