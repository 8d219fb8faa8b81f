// Opens other people's shared libraries at run time, so that an absent one is a reason and not an
// error of the loader.
#pragma once

#include <string>
#include <vector>

namespace deepbench::cpu {

class SharedLibrary {
 public:
  // Opens the first of `names` that can be found and loaded: in the folders named by
  // DEEPBENCH_CPU_LIBRARY_PATH (separated by colons), beside this backend, where Python packages
  // install it, and where the loader looks. `cure` is told when there is none. Stays open for ever.
  // kGlobal: what is loaded later, such as the library's own plugins, finds its symbols.
  enum class SymbolScope { kLocal, kGlobal };
  SharedLibrary(std::vector<std::string> names, std::string cure,
                SymbolScope symbols = SymbolScope::kLocal);

  bool loaded() const { return handle_ != nullptr; }
  const std::string& reason() const { return reason_; }  // why not loaded
  const std::string& path() const { return path_; }      // the file, links resolved
  std::string folder() const;

  // nullptr if there is no such symbol.
  void* find(const std::string& symbol) const;
  template <class Function>
  bool bind(Function& function, const std::string& symbol) const {
    function = reinterpret_cast<Function>(find(symbol));
    return function != nullptr;
  }

  // Makes it unusable after all.
  void reject(const std::string& reason);

 private:
  bool open(const std::string& path, SymbolScope symbols);

  void* handle_ = nullptr;
  std::string path_, reason_;
};

// Where libraries are looked for before the loader's own places, in order.
std::vector<std::string> library_folders();

}  // namespace deepbench::cpu
