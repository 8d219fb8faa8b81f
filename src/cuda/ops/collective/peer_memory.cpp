// Makes memory accessible to the processes of other ranks.
#include "ops/collective/peer_memory.hpp"

#include <cstring>
#include <tuple>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr size_t kAllocationCount = std::tuple_size_v<PeerMemory::Allocations>;

// The handles of the memory that a rank exports.
struct ExportedHandles {
  nvidia::cudaIpcMemHandle_t handles[kAllocationCount] = {};
  nvidia::cudaError_t status = nvidia::cudaSuccess;
};

ExportedHandles export_handles(const PeerMemory::Allocations& allocations) {
  ExportedHandles exported;
  for (size_t i = 0; i < kAllocationCount && exported.status == nvidia::cudaSuccess; ++i)
    if (allocations[i])
      exported.status = cudart().cudaIpcGetMemHandle(&exported.handles[i], allocations[i]);
  return exported;
}

// The result of opening the other ranks' memory.
struct OpenResult {
  nvidia::cudaError_t status = nvidia::cudaSuccess;
  int32_t rank = 0;  // the rank whose memory could not be opened
};

std::string describe_status(nvidia::cudaError_t status) {
  cudart().cudaGetLastError();  // clears the error, which is not the next call's
  return std::string(cudart().cudaGetErrorName(status)) + ": " +
         cudart().cudaGetErrorString(status);
}

// Processes locate each other's memory by process ids.
constexpr const char* kNamespaceHint =
    "; ranks in several containers need the same PID and IPC namespaces (--pid=host --ipc=host)";

struct PciAddress {
  char bus[32] = "";
};

}  // namespace

// Delegates to the default constructor, so that the destructor closes open memory if this
// constructor throws.
PeerMemory::PeerMemory(const plugin::Ranks& ranks, const Allocations& own, const Stream& stream)
    : PeerMemory() {
  stream.make_current();
  this_rank_ = size_t(ranks.rank());
  const std::vector<ExportedHandles> exported = ranks.exchange(export_handles(own));
  for (size_t rank = 0; rank < exported.size(); ++rank)
    if (exported[rank].status != nvidia::cudaSuccess)
      plugin::unsupported("rank " + std::to_string(rank) +
                          " cannot export its memory to the others" + " (" +
                          describe_status(exported[rank].status) + ")");
  allocations_.resize(exported.size(), Allocations{});
  allocations_[this_rank_] = own;
  OpenResult outcome;
  for (size_t rank = 0; rank < exported.size(); ++rank)
    for (size_t i = 0; i < kAllocationCount && outcome.status == nvidia::cudaSuccess; ++i) {
      if (rank == this_rank_ || !own[i]) continue;  // all ranks export the same parts
      void* begin = nullptr;
      outcome.rank = int32_t(rank);
      outcome.status = cudart().cudaIpcOpenMemHandle(&begin, exported[rank].handles[i],
                                                     nvidia::cudaIpcMemLazyEnablePeerAccess);
      allocations_[rank][i] = static_cast<std::byte*>(begin);
    }
  const std::vector<OpenResult> all = ranks.exchange(outcome);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].status != nvidia::cudaSuccess) {
      close();
      ranks.exchange(int32_t{0});  // the other ranks may free their memory after this exchange
      plugin::unsupported("rank " + std::to_string(rank) + " cannot open rank " +
                          std::to_string(all[rank].rank) + "'s memory (" +
                          describe_status(all[rank].status) + ")" + kNamespaceHint);
    }
}

PeerAddresses PeerMemory::at(size_t which, uint64_t offset) const {
  PeerAddresses addresses = {};
  for (size_t rank = 0; rank < allocations_.size(); ++rank)
    if (std::byte* const begin = allocations_[rank][which]) addresses.of[rank] = begin + offset;
  return addresses;
}

void PeerMemory::close() {
  for (size_t rank = 0; rank < allocations_.size(); ++rank)
    for (std::byte* const begin : allocations_[rank])
      if (rank != this_rank_ && begin) cudart().cudaIpcCloseMemHandle(begin);
  allocations_.clear();
}

// A device that is invisible to this process may be reachable nevertheless.
std::string unreachable_reason(const plugin::Ranks& ranks, int device) {
  PciAddress address;
  std::strncpy(address.bus, device_facts(device).pci_bus_id.c_str(), sizeof address.bus - 1);
  const std::vector<PciAddress> all = ranks.exchange(address);
  int32_t unreachable_rank = -1;
  for (int rank = 0; rank < ranks.size() && unreachable_rank < 0; ++rank) {
    int peer = 0, can = 1;
    if (rank == ranks.rank()) continue;
    if (cudart().cudaDeviceGetByPCIBusId(&peer, all[size_t(rank)].bus) == nvidia::cudaSuccess)
      CUDA_CHECK(cudart().cudaDeviceCanAccessPeer(&can, device, peer));
    cudart().cudaGetLastError();  // clears the error of an invisible device
    if (!can) unreachable_rank = rank;
  }
  const std::vector<int32_t> unreachable_ranks = ranks.exchange(unreachable_rank);
  for (size_t rank = 0; rank < unreachable_ranks.size(); ++rank)
    if (unreachable_ranks[rank] >= 0)
      return "the device of rank " + std::to_string(rank) + " (" + all[rank].bus +
             ") cannot access the memory of the device of rank " +
             std::to_string(unreachable_ranks[rank]) + " (" +
             all[size_t(unreachable_ranks[rank])].bus + "): no NVLink and no PCIe peer access";
  return "";
}

}  // namespace deepbench::cuda
