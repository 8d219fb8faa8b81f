// Showing memory to the processes of other ranks.
#include "ops/all_reduce/peer_memory.hpp"

#include <cstring>
#include <tuple>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr size_t kAllocationCount = std::tuple_size_v<PeerMemory::Allocations>;

// What a rank shows of its memory.
struct ExportedHandles {
  nvidia::cudaIpcMemHandle_t handles[kAllocationCount] = {};
  nvidia::cudaError_t status = nvidia::cudaSuccess;
};

ExportedHandles export_handles(const PeerMemory::Allocations& own) {
  ExportedHandles exported;
  for (size_t i = 0; i < kAllocationCount && exported.status == nvidia::cudaSuccess; ++i)
    if (own[i]) exported.status = cudart().cudaIpcGetMemHandle(&exported.handles[i], own[i]);
  return exported;
}

// How far a rank came with what it was shown.
struct OpenResult {
  nvidia::cudaError_t status = nvidia::cudaSuccess;
  int32_t rank = 0;  // whose memory it could not open
};

std::string describe_status(nvidia::cudaError_t status) {
  cudart().cudaGetLastError();  // not the next call's fault
  return std::string(cudart().cudaGetErrorName(status)) + ": " +
         cudart().cudaGetErrorString(status);
}

// Processes find each other's memory by their numbers.
constexpr const char* kNamespaceHint =
    "; ranks in several containers need the same PID and IPC namespaces (--pid=host --ipc=host)";

struct PciAddress {
  char bus[32] = "";
};

}  // namespace

// By way of the other constructor: what is open is closed, however this one ends.
PeerMemory::PeerMemory(const plugin::Ranks& ranks, const Allocations& own, const Stream& stream)
    : PeerMemory() {
  stream.make_current();
  this_rank_ = size_t(ranks.rank());
  const std::vector<ExportedHandles> exported = ranks.exchange(export_handles(own));
  for (size_t rank = 0; rank < exported.size(); ++rank)
    if (exported[rank].status != nvidia::cudaSuccess)
      plugin::unsupported("rank " + std::to_string(rank) + " cannot show its memory to the others" +
                          " (" + describe_status(exported[rank].status) + ")");
  allocations_.resize(exported.size(), Allocations{});
  allocations_[this_rank_] = own;
  OpenResult outcome;
  for (size_t rank = 0; rank < exported.size(); ++rank)
    for (size_t i = 0; i < kAllocationCount && outcome.status == nvidia::cudaSuccess; ++i) {
      if (rank == this_rank_ || !own[i]) continue;  // what one rank has not, none has
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
      ranks.exchange(int32_t{0});  // who is told may free at once
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

// A device that is not to be seen in this process can be reached all the same.
std::string unreachable_reason(const plugin::Ranks& ranks, int device) {
  PciAddress own;
  std::strncpy(own.bus, device_facts(device).pci_bus_id.c_str(), sizeof own.bus - 1);
  const std::vector<PciAddress> all = ranks.exchange(own);
  int32_t unreachable_rank = -1;
  for (int rank = 0; rank < ranks.size() && unreachable_rank < 0; ++rank) {
    int peer = 0, can = 1;
    if (rank == ranks.rank()) continue;
    if (cudart().cudaDeviceGetByPCIBusId(&peer, all[size_t(rank)].bus) == nvidia::cudaSuccess)
      CUDA_CHECK(cudart().cudaDeviceCanAccessPeer(&can, device, peer));
    cudart().cudaGetLastError();  // of a device that is not to be seen
    if (!can) unreachable_rank = rank;
  }
  const std::vector<int32_t> unreachable_ranks = ranks.exchange(unreachable_rank);
  for (size_t rank = 0; rank < unreachable_ranks.size(); ++rank)
    if (unreachable_ranks[rank] >= 0)
      return "the device of rank " + std::to_string(rank) + " (" + all[rank].bus +
             ") cannot reach the memory of rank " + std::to_string(unreachable_ranks[rank]) +
             "'s (" + all[size_t(unreachable_ranks[rank])].bus +
             "): no NVLink, and no way over PCIe";
  return "";
}

}  // namespace deepbench::cuda
