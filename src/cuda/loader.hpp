// Chooses among the libraries of NVIDIA that are installed, and fills their tables of functions:
// those of one major of CUDA, which the driver can run, as far as they can be had.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "identity.hpp"
#include "libraries.hpp"
#include "library.hpp"

namespace deepbench::cuda {

struct Names;  // of one library's files

template <class Table>
struct Loaded {
  using Functions = Table;
  Table table;
  LibraryReport report;
  Identity identity;
};

class Loader {
 public:
  Loader(std::vector<Location> toolkit, std::vector<Location> driver)
      : toolkit_(std::move(toolkit)), driver_(std::move(driver)) {}

  // Opened on first use, after those that it needs. What is absent is a reason in the report.
  template <class Table>
  const Loaded<Table>& get();

  std::vector<LibraryReport> all_reports();
  std::vector<std::string> mixed_majors();

 private:
  template <class Table>
  void open_needed();
  template <class Table>
  Loaded<Table> load();
  template <class Visit>
  void each(Visit visit);  // every library, in the order of loading

  Found find(const Names& names);
  LibraryReport report_on(const Names& names, const Found& found, const Identity& identity,
                          const std::string& missing);
  std::string why_absent(const Names& names, const std::string& trouble);
  std::string cure(const Names& names);
  const Identity& driver();
  std::vector<int> usable_majors();

  std::recursive_mutex mutex_;
  std::vector<Location> toolkit_, driver_;
  int major_ = 0;  // of the run time that was found
  std::tuple<std::optional<Loaded<nvidia::Driver>>, std::optional<Loaded<nvidia::Cudart>>,
             std::optional<Loaded<nvidia::Nvrtc>>, std::optional<Loaded<nvidia::NvJitLink>>,
             std::optional<Loaded<nvidia::CublasLt>>, std::optional<Loaded<nvidia::Cublas>>,
             std::optional<Loaded<nvidia::Cudnn>>, std::optional<Loaded<nvidia::Cusparse>>,
             std::optional<Loaded<nvidia::Nccl>>, std::optional<Loaded<nvidia::Nvml>>,
             std::optional<Loaded<nvidia::Nvtx>>>
      loaded_;
};

}  // namespace deepbench::cuda
