// Binds MPI through one template with two instances: one for handles that are pointers, one for
// handles that are numbers.
#include "ops/collective/mpi_api.hpp"

#include <cstdlib>
#include <memory>
#include <vector>

#include "deepbench/backend/mpi_library.hpp"
#include "ops/collective/elementwise_add.hpp"
#include "shared_library.hpp"

namespace deepbench::cpu {
namespace {

constexpr int kMaxTextLength = 8192;
constexpr int kTag = 0;

const SharedLibrary& mpi_library() {
  // The symbols are global because MPI's plugins look them up.
  static const SharedLibrary library(plugin::mpi_library_names(), plugin::kMpiCure,
                                     SharedLibrary::SymbolScope::kGlobal);
  return library;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

// The member of a request that holds a handle of this kind.
void** handle_in(Request* request, void*) { return &request->pointer; }
int* handle_in(Request* request, int) { return &request->number; }

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
    if (const std::string reason = plugin::start_mpi(mpi_library()); !reason.empty())
      plugin::failed("mpi: " + reason);
    if (const std::string reason =
            plugin::mpi_place_mismatch<Kind>(mpi_library(), ranks.rank(), ranks.size());
        !reason.empty())
      plugin::unsupported("mpi: " + reason);
    create_(&add_half_words<Handle>, 1, &add_half_);
    create_(&add_bfloat16_words<Handle>, 1, &add_bfloat16_);
  }

  int call(const Collective& collective, const void* input, void* result) override {
    const deepbench_type type = collective.precision.c;
    const bool is_float = type == DEEPBENCH_F32;
    const Handle word = is_float ? float_ : word_;
    const Handle sum = is_float ? sum_ : type == DEEPBENCH_F16 ? add_half_ : add_bfloat16_;
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
    return send_(data, bytes, byte_, to, kTag, world_, handle_in(request, Handle()));
  }
  int start_receive(void* data, int bytes, int from, Request* request) override {
    return receive_(data, bytes, byte_, from, kTag, world_, handle_in(request, Handle()));
  }
  int test(Request* request, bool* done) override {
    int flag = 0;
    const int error = test_(handle_in(request, Handle()), &flag, Kind::no_status());
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
  const Handle world_ = Kind::comm_world(mpi_library()), byte_ = Kind::byte_type(mpi_library()),
               float_ = Kind::float_type(mpi_library()), word_ = Kind::word_type(mpi_library()),
               sum_ = Kind::sum(mpi_library());
  Handle add_half_{}, add_bfloat16_{};
};

std::unique_ptr<Mpi> start_mpi(const plugin::Ranks& ranks) {
  if (plugin::is_open_mpi(mpi_library()))
    return std::make_unique<MpiBinding<plugin::OpenMpi>>(ranks);
  return std::make_unique<MpiBinding<plugin::Mpich>>(ranks);
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
  if (const std::string reason = plugin::unknown_mpi_reason(library); !reason.empty())
    return {"", "", reason};
  return library.facts(plugin::mpi_version(library));
}

Mpi& mpi(const plugin::Ranks& ranks) {
  static const std::unique_ptr<Mpi> one = start_mpi(ranks);
  return *one;
}

std::string mpi_unavailable_reason(const std::string& words) {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(variable)) return mpi_facts().reason;
  return "MPI needs ranks that mpirun starts: mpirun -n 2 python -m deepbench " + words;
}

}  // namespace deepbench::cpu
