// Binds oneCCL, a C++ library, by its mangled names and calls it by the C++ ABI of x86-64 Linux.
#include "ops/collective/oneccl_api.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared_library.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kInit = "_ZN3ccl2v14initERKNS0_9init_attrE";
constexpr const char* kVersion = "_ZN3ccl2v119get_library_versionEv";
constexpr const char* kMainStore = "_ZN3ccl2v115create_main_kvsERKNS0_8kvs_attrE";
constexpr const char* kStore = "_ZN3ccl2v110create_kvsERKSt5arrayIcLm256EERKNS0_8kvs_attrE";
constexpr const char* kAddress = "_ZNK3ccl2v13kvs11get_addressEv";
constexpr const char* kCommunicator =
    "_ZN3ccl2v119create_communicatorEiiSt10shared_ptrINS0_13kvs_interfaceEERKNS0_9comm_attrE";
constexpr const char* kWait = "_ZN3ccl2v15event4waitEv";
constexpr const char* kDestroyEvent = "_ZN3ccl2v15eventD1Ev";
constexpr const char* kInitAttributes = "_ZN3ccl2v117default_init_attrE";
constexpr const char* kStoreAttributes = "_ZN3ccl2v116default_kvs_attrE";
constexpr const char* kCommunicatorAttributes = "_ZN3ccl2v117default_comm_attrE";

// The values of ccl::datatype and ccl::reduction.
constexpr int kFloat16 = 8, kFloat32 = 9, kBfloat16 = 11, kSum = 0;

// The call of a collective: the function, its mangled name and its default attributes. send_recv
// has two functions, of which this is the first.
struct CclFunction {
  const char *name, *symbol, *attributes;
};

constexpr const char* kReceive =
    "_ZN3ccl2v14recvEPvmNS0_8datatypeEiRKNS0_12communicatorERKNS0_10pt2pt_attrERKSt6vectorINS0_"
    "5eventESaISA_EE";

CclFunction function_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {"ccl::allreduce",
              "_ZN3ccl2v19allreduceEPKvPvmNS0_8datatypeENS0_9reductionERKNS0_12communicatorERKNS0_"
              "14allreduce_attrERKSt6vectorINS0_5eventESaISD_EE",
              "_ZN3ccl2v122default_allreduce_attrE"};
    case CollectiveKind::kAllGather:
      return {"ccl::allgather",
              "_ZN3ccl2v19allgatherEPKvPvmNS0_8datatypeERKNS0_12communicatorERKNS0_14allgather_"
              "attrERKSt6vectorINS0_5eventESaISC_EE",
              "_ZN3ccl2v122default_allgather_attrE"};
    case CollectiveKind::kReduceScatter:
      return {"ccl::reduce_scatter",
              "_ZN3ccl2v114reduce_scatterEPKvPvmNS0_8datatypeENS0_9reductionERKNS0_"
              "12communicatorERKNS0_19reduce_scatter_attrERKSt6vectorINS0_5eventESaISD_EE",
              "_ZN3ccl2v127default_reduce_scatter_attrE"};
    case CollectiveKind::kAllToAll:
      return {"ccl::alltoall",
              "_ZN3ccl2v18alltoallEPKvPvmNS0_8datatypeERKNS0_12communicatorERKNS0_13alltoall_"
              "attrERKSt6vectorINS0_5eventESaISC_EE",
              "_ZN3ccl2v121default_alltoall_attrE"};
    case CollectiveKind::kBroadcast:
      return {"ccl::broadcast",
              "_ZN3ccl2v19broadcastEPvmNS0_8datatypeEiRKNS0_12communicatorERKNS0_14broadcast_"
              "attrERKSt6vectorINS0_5eventESaISA_EE",
              "_ZN3ccl2v122default_broadcast_attrE"};
    case CollectiveKind::kSendRecv:
      return {"ccl::send_ccl::recv",
              "_ZN3ccl2v14sendEPvmNS0_8datatypeEiRKNS0_12communicatorERKNS0_10pt2pt_attrERKSt6"
              "vectorINS0_5eventESaISA_EE",
              "_ZN3ccl2v118default_pt2pt_attrE"};
  }
  return {};
}

// Storage for an object of any oneCCL class. It has a destructor, so that the compiler returns it
// through memory of the caller, as it does with oneCCL's classes. Only events need their real
// destructor, which is called by name.
struct alignas(16) OpaqueObject {
  OpaqueObject() = default;
  OpaqueObject(const OpaqueObject&) = delete;
  ~OpaqueObject() {}  // NOLINT: the destructor must not be trivial.
  std::array<unsigned char, 512> bytes;
};

using Address = std::array<char, 256>;
using Store = std::shared_ptr<void>;  // a store of any class
using Events = std::vector<void*>;    // no events, of any class

const SharedLibrary& oneccl_library() {
  static const SharedLibrary library(
      {"libccl.so.1"},
      "pip install 'oneccl-cpu<2021.17' 'impi-rt<2021.19', or name its folder "
      "in DEEPBENCH_CPU_LIBRARY_PATH",
      SharedLibrary::SymbolScope::kGlobal);
  return library;
}

template <class Function>
Function symbol(const char* name) {
  Function function = nullptr;
  if (!oneccl_library().bind(function, name))
    plugin::unsupported("oneccl: " + oneccl_library().path() + " has no " + name);
  return function;
}

std::string version_of_oneccl() {
  uint32_t numbers[3] = {};  // ccl::library_version begins with major, minor and update
  const OpaqueObject version = symbol<OpaqueObject (*)()>(kVersion)();
  std::memcpy(numbers, version.bytes.data(), sizeof numbers);
  return std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." +
         std::to_string(numbers[2]);
}

void set_if_unset(const char* name, const std::string& value) { setenv(name, value.c_str(), 0); }

// Without mpirun, the ranks find each other through the address that deepbench exchanges, over
// libfabric. libfabric's library and providers lie in oneCCL's folder.
void prepare_environment(const plugin::Ranks& ranks) {
  const std::string folder = oneccl_library().folder();
  set_if_unset("CCL_ATL_TRANSPORT", "ofi");
  set_if_unset("CCL_PROCESS_LAUNCHER", "none");
  set_if_unset("CCL_LOCAL_RANK", std::to_string(ranks.local_rank()));
  set_if_unset("CCL_LOCAL_SIZE", std::to_string(ranks.local_size()));
  const std::string fabric = folder + "/libfabric.so.1";
  if (access(fabric.c_str(), R_OK) != 0) return;
  set_if_unset("CCL_OFI_LIBRARY_PATH", fabric);
  set_if_unset("FI_PROVIDER_PATH", folder);
}

class Communicator final : public OneCcl {
 public:
  explicit Communicator(const plugin::Ranks& ranks) : ranks_(ranks), communicator_(create(ranks)) {}

  void call(const Collective& collective, const void* input, void* result) override {
    const BoundFunction& function = bound(collective.kind);
    const uint64_t count = collective.count(ranks_.size());
    const int type = type_of(collective.precision.c);
    switch (collective.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduceScatter: {
        OpaqueObject event = reinterpret_cast<Adding>(function.call)(
            input, result, count, type, kSum, &communicator_, function.attributes, {});
        return finish(event);
      }
      case CollectiveKind::kAllGather:
      case CollectiveKind::kAllToAll: {
        OpaqueObject event = reinterpret_cast<Copying>(function.call)(
            input, result, count, type, &communicator_, function.attributes, {});
        return finish(event);
      }
      case CollectiveKind::kBroadcast: {
        OpaqueObject event = reinterpret_cast<Transferring>(function.call)(
            result, count, type, Collective::root(ranks_.size()), &communicator_,
            function.attributes, {});
        return finish(event);
      }
      case CollectiveKind::kSendRecv: {
        OpaqueObject sent = reinterpret_cast<Transferring>(function.call)(
            const_cast<void*>(input), count, type, ranks_.right(), &communicator_,
            function.attributes, {});
        OpaqueObject received = reinterpret_cast<Transferring>(function.receive)(
            result, count, type, ranks_.left(), &communicator_, function.attributes, {});
        finish(received);
        return finish(sent);
      }
    }
  }

 private:
  // A collective's function and attributes, which are looked up once.
  struct BoundFunction {
    void* call;
    const void* attributes;
    void* receive;  // receiving function of send_recv
  };
  using Adding = OpaqueObject (*)(const void*, void*, size_t, int, int, const void*, const void*,
                                  const Events&);
  using Copying = OpaqueObject (*)(const void*, void*, size_t, int, const void*, const void*,
                                   const Events&);
  using Transferring = OpaqueObject (*)(void*, size_t, int, int, const void*, const void*,
                                        const Events&);

  static OpaqueObject create(const plugin::Ranks& ranks) {
    prepare_environment(ranks);
    symbol<void (*)(const void*)>(kInit)(symbol<const void*>(kInitAttributes));
    const auto* const store_attributes = symbol<const void*>(kStoreAttributes);
    Store store;
    Address address{};
    if (ranks.rank() == 0) {
      store = symbol<Store (*)(const void*)>(kMainStore)(store_attributes);
      address = symbol<Address (*)(const void*)>(kAddress)(store.get());
    }
    address = ranks.exchange(address).front();
    if (ranks.rank() != 0)
      store = symbol<Store (*)(const Address&, const void*)>(kStore)(address, store_attributes);
    return symbol<OpaqueObject (*)(int, int, Store, const void*)>(kCommunicator)(
        ranks.size(), ranks.rank(), store, symbol<const void*>(kCommunicatorAttributes));
  }

  static int type_of(deepbench_type type) {
    if (type == DEEPBENCH_F32) return kFloat32;
    return type == DEEPBENCH_F16 ? kFloat16 : kBfloat16;
  }
  const BoundFunction& bound(CollectiveKind kind) {
    const auto [found, is_new] = bound_.try_emplace(kind);
    const CclFunction function = function_of(kind);
    if (is_new)
      found->second = {symbol<void*>(function.symbol), symbol<const void*>(function.attributes),
                       kind == CollectiveKind::kSendRecv ? symbol<void*>(kReceive) : nullptr};
    return found->second;
  }
  void finish(OpaqueObject& event) const {
    wait_(&event);
    destroy_(&event);
  }

  const plugin::Ranks ranks_;
  const OpaqueObject communicator_;
  std::map<CollectiveKind, BoundFunction> bound_;
  void (*const wait_)(void*) = symbol<void (*)(void*)>(kWait);
  void (*const destroy_)(void*) = symbol<void (*)(void*)>(kDestroyEvent);
};

}  // namespace

LibraryFacts oneccl_facts() {
#if !defined(__x86_64__)
  return {"", "", "deepbench calls oneCCL's C++ functions on x86-64 only"};
#endif
  const SharedLibrary& library = oneccl_library();
  if (!library.loaded()) return {"", "", library.reason()};
  try {
    return library.facts(version_of_oneccl());
  } catch (const plugin::Error& error) {
    return {"", "", error.what()};
  }
}

const char* oneccl_function(CollectiveKind kind) { return function_of(kind).name; }

void require_oneccl_function(CollectiveKind kind) { symbol<void*>(function_of(kind).symbol); }

OneCcl& oneccl(const plugin::Ranks& ranks) {
  static auto* one = new Communicator(ranks);
  return *one;
}

}  // namespace deepbench::cpu
