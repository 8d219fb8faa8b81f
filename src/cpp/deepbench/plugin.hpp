// plugin.h as C++ classes for backend authors, header-only: derive from Backend, Plan and Kernel,
// throw Error or any other exception, and let DEEPBENCH_PLUGIN(YourBackend) export the table. Only
// this header turns exceptions into statuses and last_error().
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/plugin.h"
#include "deepbench/plugin_chain.h"
#include "deepbench/plugin_collective.h"
#include "deepbench/plugin_energy.h"
#include "deepbench/plugin_forward_state.h"

#if defined(_WIN32)
#define DEEPBENCH_EXPORT __declspec(dllexport)
#else
#define DEEPBENCH_EXPORT __attribute__((visibility("default")))
#endif

namespace deepbench::plugin {

// Thrown by a slot to return a status other than DEEPBENCH_FAILED.
class Error : public std::runtime_error {
 public:
  Error(deepbench_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  deepbench_status status() const { return status_; }

 private:
  deepbench_status status_;
};

[[noreturn]] inline void unsupported(const std::string& reason) {
  throw Error(DEEPBENCH_UNSUPPORTED, reason);
}
[[noreturn]] inline void invalid(const std::string& reason) {
  throw Error(DEEPBENCH_INVALID, reason);
}
[[noreturn]] inline void failed(const std::string& reason) {
  throw Error(DEEPBENCH_FAILED, reason);
}

// A view of named values. An absent value reads as the fallback.
class Values {
 public:
  explicit Values(deepbench_values values) : values_(values) {}

  int64_t integer(std::string_view name, int64_t fallback = 0) const {
    const deepbench_value* value = find(name);
    if (!value) return fallback;
    return value->kind == DEEPBENCH_REAL ? static_cast<int64_t>(value->real) : value->integer;
  }
  double real(std::string_view name, double fallback = 0) const {
    const deepbench_value* value = find(name);
    if (!value) return fallback;
    return value->kind == DEEPBENCH_REAL ? value->real : static_cast<double>(value->integer);
  }
  std::string text(std::string_view name, std::string_view fallback = "") const {
    const deepbench_value* value = find(name);
    return value && value->kind == DEEPBENCH_TEXT ? value->text : std::string(fallback);
  }
  deepbench_values raw() const { return values_; }

 private:
  const deepbench_value* find(std::string_view name) const {
    for (size_t i = 0; i < values_.count; ++i)
      if (name == values_.items[i].name) return &values_.items[i];
    return nullptr;
  }
  deepbench_values values_;
};

// A problem as the core passes it.
class Problem {
 public:
  explicit Problem(const deepbench_problem& problem)
      : op_(problem.op), values_(problem.attributes) {}
  const std::string& op() const { return op_; }
  int64_t integer(std::string_view name, int64_t fallback = 0) const {
    return values_.integer(name, fallback);
  }
  double real(std::string_view name, double fallback = 0) const {
    return values_.real(name, fallback);
  }
  std::string text(std::string_view name, std::string_view fallback = "") const {
    return values_.text(name, fallback);
  }
  const Values& values() const { return values_; }

 private:
  std::string op_;
  Values values_;
};

// The options of plugin.h with their defaults.
struct Options {
  int32_t device = 0;
  std::vector<int> devices;  // for a collective in one process; empty: only `device`
  std::string library;
  bool cold = false, rotated = false;
  int64_t copies = 1024;
  int64_t threads = 0;
  bool pad = true;
  uint64_t seed = 0;
  int64_t workspace = 32 << 20;
  std::string inputs = "uniform";
  std::string constant;

  Options() = default;
  explicit Options(deepbench_values raw) {
    Values values(raw);
    device = static_cast<int32_t>(values.integer("device", device));
    devices = parse_device_list(values.text("devices"));
    library = values.text("library");
    cold = values.text("cache") == "cold";
    rotated = values.text("cache") == "rotated";
    copies = values.integer("copies", copies);
    threads = values.integer("threads", threads);
    pad = values.integer("pad", 1) != 0;
    seed = static_cast<uint64_t>(values.integer("seed", 0));
    workspace = values.integer("workspace", workspace);
    inputs = values.text("inputs", inputs);
    constant = values.text("constant");
  }

  // Parses "0,2", the only form that the core passes.
  static std::vector<int> parse_device_list(const std::string& list) {
    std::vector<int> numbers;
    for (size_t begin = 0; begin < list.size(); begin = list.find(',', begin) + 1) {
      numbers.push_back(std::stoi(list.substr(begin)));
      if (list.find(',', begin) == std::string::npos) break;
    }
    return numbers;
  }

  // Whether the operand ("a") may be converted to another layout before the call.
  bool is_constant(const std::string& operand) const {
    return ("," + constant + ",").find("," + operand + ",") != std::string::npos;
  }
};

// Receives the values that a backend emits.
class Sink {
 public:
  explicit Sink(deepbench_sink sink) : sink_(sink) {}
  void text(const std::string& name, const std::string& value) {
    emit({name.c_str(), DEEPBENCH_TEXT, 0, 0, value.c_str()});
  }
  void integer(const std::string& name, int64_t value) {
    emit({name.c_str(), DEEPBENCH_INTEGER, value, 0, nullptr});
  }
  void real(const std::string& name, double value) {
    emit({name.c_str(), DEEPBENCH_REAL, 0, value, nullptr});
  }
  // `unit` and `better` ("lower" or "higher") determine how reports print and compare the metric.
  void metric(const std::string& name, double value, const std::string& unit,
              const std::string& better) {
    const std::string full = "metric." + name;
    const std::string how = unit + " " + better;
    emit({full.c_str(), DEEPBENCH_REAL, 0, value, how.c_str()});
  }

 private:
  void emit(const deepbench_value& value) { sink_.emit(sink_.context, &value); }
  deepbench_sink sink_;
};

// One prepared call; plugin.h specifies each function.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void describe(Sink& sink) const = 0;
  virtual void time_batch(const deepbench_request& request, deepbench_batch& batch) = 0;
  virtual void restore() {}
  virtual void refill(const std::string& inputs, uint64_t seed) {
    (void)inputs, (void)seed;
    unsupported("the operands of this kernel cannot be refilled");
  }
  virtual void poison_outputs() = 0;
  virtual void read_output(uint32_t output, const uint64_t* indices, size_t count,
                           double* values) = 0;
  virtual void scan_output(uint32_t output, deepbench_scan& scan) = 0;
  virtual void project_output(uint32_t output, uint64_t rows, uint64_t seed, double* sums) = 0;
  // Only for a reference: starts from the states that the forward pass of `tested` left, if they
  // are the problem's.
  virtual deepbench_forward_states adopt_forward_states(const Kernel& tested) {
    (void)tested;
    return DEEPBENCH_STATES_UNKNOWN;
  }
};

// A problem bound to a library and an algorithm.
class Plan {
 public:
  virtual ~Plan() = default;
  // Emits library, algorithm, memory_bytes and further facts.
  virtual void describe(Sink& sink) const = 0;
  // The ids of the algorithms that with_candidate() accepts, with the plan's own first. At most
  // `limit` are requested (0: all).
  virtual std::vector<std::string> candidates(int64_t limit) const {
    (void)limit;
    return {};
  }
  // The part of the last call of candidates() that compiled what the machine keeps.
  virtual double listing_compiling_ns() const { return 0; }
  virtual std::unique_ptr<Plan> with_candidate(const std::string& id) const {
    invalid("there is no candidate '" + id + "' for this problem");
  }
  virtual std::unique_ptr<Kernel> prepare() const = 0;
};

class Backend {
 public:
  // The value of deepbench_backend::priority. A backend that `auto` may select hides this constant
  // with its own.
  static constexpr int32_t kPriority = 0;

  virtual ~Backend() = default;
  virtual void describe(Sink& sink) = 0;
  virtual int32_t device_count() = 0;
  virtual void describe_device(int32_t device, Sink& sink) = 0;
  virtual void environment(const Options& options, Sink& sink) { (void)options, (void)sink; }
  virtual std::unique_ptr<Plan> plan(const Problem& problem, const Options& options) = 0;
  virtual void observe(int32_t device, Sink& sink) { (void)device, (void)sink; }
  // The table of the extension `name`, or nullptr where the backend does not have it. The functions
  // below make the tables of the extensions that plugin_NAME.h declares.
  virtual const void* extension(std::string_view name) {
    (void)name;
    return nullptr;
  }
};

namespace internal {

inline std::string& last_error() {
  thread_local std::string text;
  return text;
}

template <class Body>
deepbench_status guard(Body body) noexcept {
  try {
    try {
      body();
      return DEEPBENCH_OK;
    } catch (const Error& error) {
      last_error() = error.what();
      return error.status();
    } catch (const std::bad_alloc&) {
      last_error() = "out of host memory";
      return DEEPBENCH_OUT_OF_MEMORY;
    } catch (const std::exception& error) {
      last_error() = error.what();
      return DEEPBENCH_FAILED;
    } catch (...) {
      last_error() = "something was thrown that is no std::exception";
      return DEEPBENCH_FAILED;
    }
  } catch (...) {  // no memory for the message
    last_error().clear();
    return DEEPBENCH_FAILED;
  }
}

inline Plan& plan(deepbench_plan* handle) { return *reinterpret_cast<Plan*>(handle); }
inline Kernel& kernel(deepbench_kernel* handle) { return *reinterpret_cast<Kernel*>(handle); }

inline deepbench_plan* handle(std::unique_ptr<Plan> plan) {
  return reinterpret_cast<deepbench_plan*>(plan.release());
}
inline deepbench_kernel* handle(std::unique_ptr<Kernel> kernel) {
  return reinterpret_cast<deepbench_kernel*>(kernel.release());
}

// The functions of the table for one backend class, which only convert arguments and results.
template <class B>
struct Slots {
  static B& backend() {
    static B* instance = new B();  // never destroyed: at exit libraries may be unloaded first
    return *instance;
  }
  static const char* error() { return last_error().c_str(); }
  static deepbench_status describe(deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      backend().describe(sink);
    });
  }
  static deepbench_status device_count(int32_t* count) {
    return guard([&] { *count = backend().device_count(); });
  }
  static deepbench_status describe_device(int32_t device, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      backend().describe_device(device, sink);
    });
  }
  static deepbench_status environment(deepbench_values options, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      backend().environment(Options(options), sink);
    });
  }
  static deepbench_status plan(const deepbench_problem* problem, deepbench_values options,
                               deepbench_plan** out) {
    return guard([&] { *out = handle(backend().plan(Problem(*problem), Options(options))); });
  }
  static deepbench_status describe_plan(deepbench_plan* handle, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      internal::plan(handle).describe(sink);
    });
  }
  static deepbench_status candidates(deepbench_plan* handle, int64_t limit, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      const Plan& plan = internal::plan(handle);
      for (const auto& id : plan.candidates(limit)) sink.text("candidate", id);
      if (plan.listing_compiling_ns() > 0) sink.real("compiling_ns", plan.listing_compiling_ns());
    });
  }
  static deepbench_status plan_candidate(deepbench_plan* handle, const char* id,
                                         deepbench_plan** out) {
    return guard([&] { *out = internal::handle(internal::plan(handle).with_candidate(id)); });
  }
  static void destroy_plan(deepbench_plan* handle) { delete reinterpret_cast<Plan*>(handle); }
  static deepbench_status prepare(deepbench_plan* handle, deepbench_kernel** out) {
    return guard([&] { *out = internal::handle(internal::plan(handle).prepare()); });
  }
  static deepbench_status describe_kernel(deepbench_kernel* handle, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      kernel(handle).describe(sink);
    });
  }
  static deepbench_status time_batch(deepbench_kernel* handle, const deepbench_request* request,
                                     deepbench_batch* batch) {
    return guard([&] { kernel(handle).time_batch(*request, *batch); });
  }
  static deepbench_status restore(deepbench_kernel* handle) {
    return guard([&] { kernel(handle).restore(); });
  }
  static deepbench_status refill(deepbench_kernel* handle, const char* inputs, uint64_t seed) {
    return guard([&] { kernel(handle).refill(inputs, seed); });
  }
  static deepbench_status poison_outputs(deepbench_kernel* handle) {
    return guard([&] { kernel(handle).poison_outputs(); });
  }
  static deepbench_status read_output(deepbench_kernel* handle, uint32_t output,
                                      const uint64_t* indices, size_t count, double* values) {
    return guard([&] { kernel(handle).read_output(output, indices, count, values); });
  }
  static deepbench_status scan_output(deepbench_kernel* handle, uint32_t output,
                                      deepbench_scan* scan) {
    return guard([&] { kernel(handle).scan_output(output, *scan); });
  }
  static deepbench_status project_output(deepbench_kernel* handle, uint32_t output, uint64_t rows,
                                         uint64_t seed, double* sums) {
    return guard([&] { kernel(handle).project_output(output, rows, seed, sums); });
  }
  static deepbench_status observe(int32_t device, deepbench_sink raw) {
    return guard([&] {
      Sink sink(raw);
      backend().observe(device, sink);
    });
  }
  static const void* extension(const char* name) {
    const void* table = nullptr;
    guard([&] { table = backend().extension(name); });
    return table;
  }
  static void destroy(deepbench_kernel* handle) { delete reinterpret_cast<Kernel*>(handle); }
};

}  // namespace internal

// The table of DEEPBENCH_ENERGY whose counter `joules` reads, in joules since an arbitrary start.
template <double (*joules)(int32_t device)>
const deepbench_energy* energy_extension() {
  static const deepbench_energy table = {sizeof table, [](int32_t device, double* out) {
                                           return internal::guard([&] { *out = joules(device); });
                                         }};
  return &table;
}

// The table of DEEPBENCH_CHAIN. `link` returns a kernel that makes a call of each of the kernels,
// which outlive it.
template <std::unique_ptr<Kernel> (*link)(const std::vector<Kernel*>& kernels)>
const deepbench_chain* chain_extension() {
  static const deepbench_chain table = {
      sizeof table, [](deepbench_kernel* const* kernels, size_t count, deepbench_kernel** chain) {
        return internal::guard([&] {
          std::vector<Kernel*> steps;
          for (size_t i = 0; i < count; ++i) steps.push_back(&internal::kernel(kernels[i]));
          *chain = internal::handle(link(steps));
        });
      }};
  return &table;
}

// The table of DEEPBENCH_COLLECTIVE. The group that `join` receives and what it points to outlive
// the backend.
template <void (*join)(const deepbench_group& group)>
const deepbench_collective* collective_extension() {
  static const deepbench_collective table = {sizeof table, [](const deepbench_group* group) {
                                               return internal::guard([&] { join(*group); });
                                             }};
  return &table;
}

// The table of DEEPBENCH_FORWARD_STATE, which calls Kernel::adopt_forward_states().
inline const deepbench_forward_state* forward_state_extension() {
  static const deepbench_forward_state table = {
      sizeof table, [](deepbench_kernel* reference, deepbench_kernel* tested, int32_t* states) {
        return internal::guard([&] {
          *states = internal::kernel(reference).adopt_forward_states(internal::kernel(tested));
        });
      }};
  return &table;
}

// The table of backend class B, which is constructed on first use. B needs a default constructor
// that cannot fail.
template <class B>
const deepbench_backend* table(const char* name) {
  using S = internal::Slots<B>;
  static const deepbench_backend table = {sizeof(deepbench_backend),
                                          DEEPBENCH_ABI_MAJOR,
                                          DEEPBENCH_ABI_MINOR,
                                          name,
                                          B::kPriority,
                                          S::error,
                                          S::describe,
                                          S::device_count,
                                          S::describe_device,
                                          S::plan,
                                          S::describe_plan,
                                          S::destroy_plan,
                                          S::prepare,
                                          S::describe_kernel,
                                          S::time_batch,
                                          S::poison_outputs,
                                          S::read_output,
                                          S::destroy,
                                          S::environment,
                                          S::candidates,
                                          S::plan_candidate,
                                          S::restore,
                                          S::scan_output,
                                          S::project_output,
                                          S::observe,
                                          S::extension,
                                          S::refill};
  return &table;
}

}  // namespace deepbench::plugin

// Exports backend class TYPE under NAME. Used once per shared library, at namespace scope.
#define DEEPBENCH_PLUGIN(TYPE, NAME)                                        \
  extern "C" DEEPBENCH_EXPORT const deepbench_backend* deepbench_plugin() { \
    return ::deepbench::plugin::table<TYPE>(NAME);                          \
  }
