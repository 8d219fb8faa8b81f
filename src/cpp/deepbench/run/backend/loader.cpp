// Finding and loading plugins.
#include "deepbench/run/backend/loader.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/backend/limits.hpp"
#include "deepbench/run/backend/plugin_text.hpp"

namespace deepbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libdeepbench_";
constexpr std::string_view kSuffix = ".so";
constexpr size_t kShownPath = 200;  // characters of a path in a message

std::string name_of_file(const fs::path& path) {
  const std::string file = path.filename().string();
  if (file.size() <= kPrefix.size() + kSuffix.size()) return "";
  if (file.compare(0, kPrefix.size(), kPrefix) != 0) return "";
  if (file.compare(file.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) return "";
  return file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
}

constexpr size_t kMaxPath = 4096;  // characters

// Names and paths of backends are printed and written to result files. A file with another name may
// be a stranger's, and is passed over.
void add_backend_file(const fs::path& path, std::vector<FoundBackend>& found) {
  if (!fault_of_name(path.c_str(), kMaxPath).empty()) return;
  const std::string name = name_of_file(path);
  const auto same = [&](const FoundBackend& one) { return one.name == name; };
  if (!name.empty() && std::none_of(found.begin(), found.end(), same))
    found.push_back({name, path.string()});
}

void find_backends_in(const fs::path& place, std::vector<FoundBackend>& found) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) return add_backend_file(place, found);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place, ignored)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) add_backend_file(file, found);
}

// The reason why a path that the user named holds no backend; empty if it holds one.
std::string no_backend_reason(const fs::path& place) {
  std::error_code ignored;
  if (!fs::exists(place, ignored)) return "no such file or folder";
  const std::string fault = fault_of_name(place.c_str(), kMaxPath);
  if (!fault.empty()) return "its path " + fault;
  std::vector<FoundBackend> found;
  find_backends_in(place, found);
  if (!found.empty()) return "";
  const bool folder = fs::is_directory(place, ignored);
  return folder ? "the folder has no libdeepbench_NAME.so"
                : "a backend's file must be called libdeepbench_NAME.so";
}

std::vector<std::string> environment_paths() {
  std::vector<std::string> paths;
  const char* value = std::getenv("DEEPBENCH_BACKEND_PATH");
  std::string text = value ? value : "";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) paths.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "unknown error of the loader";
}

// The size of the table in version 2.0 of the interface; a smaller table is refused.
constexpr size_t kFirstTable = offsetof(deepbench_backend, extension) + sizeof(void*);

// A copy of the table with this version's size, never freed: slots that an older plugin lacks are
// NULL.
const deepbench_backend* padded_table(const deepbench_backend& table) {
  auto* copy = new deepbench_backend{};
  std::memcpy(copy, &table, std::min(table.struct_size, sizeof *copy));
  return copy;
}

// Whether the required slots are present; optional ones may be NULL. A backend that lists
// candidates also plans them.
bool has_required_slots(const deepbench_backend& table) {
  return table.name && table.last_error && table.describe && table.device_count &&
         table.describe_device && table.plan && table.describe_plan && table.destroy_plan &&
         table.prepare && table.describe_kernel && table.time_batch && table.poison_outputs &&
         table.read_output && table.destroy &&
         (table.candidates != nullptr) == (table.plan_candidate != nullptr);
}

// A name in rows must be a single word.
bool is_valid_backend_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The table that a plugin's entry returns. An entry written in C++ may throw.
const deepbench_backend* table_of(deepbench_plugin_function entry, const std::string& path) {
  const std::string threw = path + ": " DEEPBENCH_PLUGIN_SYMBOL "() threw ";
  try {
    return entry();
  } catch (const std::exception& error) {
    throw BackendUnavailable(threw + "an exception: " + shown_text(error.what(), kShownPath));
  } catch (...) {
    throw BackendUnavailable(threw + "something that is no exception");
  }
}

const deepbench_backend* open_table(const std::string& path) {
  const auto refuse = [&](const std::string& why) { throw BackendUnavailable(path + ": " + why); };
  std::error_code ignored;
  if (!fs::exists(path, ignored)) refuse("no such file");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw BackendUnavailable("cannot load a backend: " + last_dl_error());
  const auto entry =
      reinterpret_cast<deepbench_plugin_function>(dlsym(handle, DEEPBENCH_PLUGIN_SYMBOL));
  if (!entry) refuse("not a deepbench backend: it exports no " DEEPBENCH_PLUGIN_SYMBOL "()");
  const deepbench_backend* table = table_of(entry, path);
  if (!table) refuse(DEEPBENCH_PLUGIN_SYMBOL "() returned no table");
  if (table->abi_major != DEEPBENCH_ABI_MAJOR)
    refuse("built for version " + std::to_string(table->abi_major) +
           " of the backend interface; this deepbench speaks version " +
           std::to_string(DEEPBENCH_ABI_MAJOR));
  if (table->struct_size < kFirstTable)
    refuse("its table is too small: " + std::to_string(table->struct_size) + " bytes of " +
           std::to_string(kFirstTable));
  // A slot that the table holds only in part would be a pointer to an arbitrary address.
  if (table->struct_size > limits::kTableBytes || table->struct_size % sizeof(void*) != 0)
    refuse("its table cannot have " + std::to_string(table->struct_size) + " bytes");
  if (!has_required_slots(*table)) refuse("its table lacks a slot that every backend must have");
  if (bounded_text(table->name, limits::kBackendName).size() > limits::kBackendName)
    refuse("its name has more than " + std::to_string(limits::kBackendName) + " characters");
  if (!is_valid_backend_name(table->name))
    refuse("its name, '" + printable(table->name) + "', is not made of letters, digits and '_'");
  return padded_table(*table);
}

// A backend that `auto` may select.
struct AutomaticBackend {
  std::string name;
  Backend backend;
};

// The backends with a priority, the highest first. Appends the reason why a plugin cannot be loaded
// to `skipped`.
std::vector<AutomaticBackend> load_automatic_backends(const std::vector<FoundBackend>& found,
                                                      std::string& skipped) {
  std::vector<AutomaticBackend> all;
  for (const FoundBackend& one : found) {
    try {
      const Backend backend = load_plugin(one.path);
      if (backend.priority() > 0) all.push_back({one.name, backend});
    } catch (const BackendUnavailable& error) {
      skipped += (skipped.empty() ? "" : "; ") + one.name + ": " + error.what();
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const AutomaticBackend& a, const AutomaticBackend& b) {
                     return a.backend.priority() > b.backend.priority();
                   });
  return all;
}

// A device that is present but cannot be used (its driver is too old, or a library is missing) does
// not justify measuring another device without being asked. The backend's message, which names the
// remedy, ends the search.
Backend load_automatic(const std::vector<FoundBackend>& found, std::string* why) {
  std::string skipped;
  const std::vector<AutomaticBackend> all = load_automatic_backends(found, skipped);
  for (const AutomaticBackend& one : all) {
    if (why) *why = skipped;
    try {
      if (one.backend.device_count() > 0) return one.backend;
    } catch (const RowFailure& failure) {
      const std::string& last = all.back().name;
      throw BackendUnavailable(one.name + ": " + failure.what() +
                               (one.name == last ? "" : "; or take --backend " + last));
    }
    skipped += (skipped.empty() ? "" : "; ") + ("no " + one.name + " device");
  }
  throw BackendUnavailable("no backend has a device here" +
                           (skipped.empty() ? "" : ": " + skipped) + "; looked in " +
                           package_directory());
}

}  // namespace

std::string package_directory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&package_directory), &info) && info.dli_fname) {
    std::error_code ignored;
    return fs::absolute(fs::path(info.dli_fname), ignored).parent_path().string();
  }
  return ".";
}

std::vector<FoundBackend> find_backends(const std::vector<std::string>& paths) {
  std::vector<FoundBackend> found;
  for (const auto& path : paths) find_backends_in(path, found);
  for (const auto& path : environment_paths()) find_backends_in(path, found);
  find_backends_in(package_directory(), found);
  return found;
}

std::vector<std::string> search_warnings() {
  std::vector<std::string> warnings;
  for (const auto& path : environment_paths()) {
    const std::string why = no_backend_reason(path);
    if (!why.empty())
      warnings.push_back("DEEPBENCH_BACKEND_PATH: " + shown_text(path.c_str(), kShownPath) + ": " +
                         why);
  }
  return warnings;
}

Backend load_plugin(const std::string& path) {
  static std::mutex mutex;
  // Neither plugins nor their tables are released: a kernel may outlive main().
  static auto& loaded = *new std::map<std::string, const deepbench_backend*>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::error_code ignored;
  const std::string key = fs::absolute(path, ignored).string();
  auto at = loaded.find(key);
  if (at == loaded.end()) at = loaded.emplace(key, open_table(key)).first;
  return Backend(at->second, key);
}

Backend load_backend(const std::string& name, const std::vector<std::string>& paths,
                     std::string* why) {
  if (name.find('/') != std::string::npos) return load_plugin(name);
  const std::vector<FoundBackend> found = find_backends(paths);
  if (name == "auto") return load_automatic(found, why);
  std::vector<std::string> names = {"auto"};
  std::string list = "auto";
  for (const auto& one : found) {
    if (one.name == name) return load_plugin(one.path);
    names.push_back(one.name);
    list += " " + one.name;
  }
  for (const auto& warning : search_warnings()) list += "; " + warning;
  std::error_code ignored;
  if (fs::is_regular_file(name, ignored)) list += "; a file is named with a '/', as in ./" + name;
  throw BackendUnavailable("no backend is called '" + name + "'" + suggestion(name, names) +
                           "; there are " + list);
}

}  // namespace deepbench
