// Showing memory to the processes of other ranks.
#include "ops/all_reduce/peer_memory.hpp"

#include <cstring>
#include <tuple>

#include "check.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"

namespace deepbench::cuda {
namespace {

constexpr size_t kMostShown = std::tuple_size_v<PeerMemory::Own>;

// What a rank shows of its memory.
struct Shown {
  nvidia::cudaIpcMemHandle_t handles[kMostShown] = {};
  nvidia::cudaError_t status = nvidia::cudaSuccess;
};

Shown handles_of(const PeerMemory::Own& own) {
  Shown shown;
  for (size_t i = 0; i < kMostShown && shown.status == nvidia::cudaSuccess; ++i)
    if (own[i]) shown.status = cudart().cudaIpcGetMemHandle(&shown.handles[i], own[i]);
  return shown;
}

// How far a rank came with what it was shown.
struct Opened {
  nvidia::cudaError_t status = nvidia::cudaSuccess;
  int32_t rank = 0;  // whose memory it could not open
};

std::string named(nvidia::cudaError_t status) {
  cudart().cudaGetLastError();  // not the next call's fault
  return std::string(cudart().cudaGetErrorName(status)) + ": " +
         cudart().cudaGetErrorString(status);
}

// Processes find each other's memory by their numbers.
constexpr const char* kCure =
    "; ranks in several containers need the same PID and IPC namespaces (--pid=host --ipc=host)";

struct Address {
  char bus[32] = "";
};

}  // namespace

// By way of the other constructor: what is open is closed, however this one ends.
PeerMemory::PeerMemory(const plugin::Ranks& ranks, const Own& own, const Stream& stream)
    : PeerMemory() {
  stream.enter();
  own_ = size_t(ranks.rank());
  const std::vector<Shown> shown = ranks.exchange(handles_of(own));
  for (size_t rank = 0; rank < shown.size(); ++rank)
    if (shown[rank].status != nvidia::cudaSuccess)
      plugin::unsupported("rank " + std::to_string(rank) + " cannot show its memory to the others" +
                          " (" + named(shown[rank].status) + ")");
  begins_.resize(shown.size(), Own{});
  begins_[own_] = own;
  Opened outcome;
  for (size_t rank = 0; rank < shown.size(); ++rank)
    for (size_t i = 0; i < kMostShown && outcome.status == nvidia::cudaSuccess; ++i) {
      if (rank == own_ || !own[i]) continue;  // what one rank has not, none has
      void* begin = nullptr;
      outcome.rank = int32_t(rank);
      outcome.status = cudart().cudaIpcOpenMemHandle(&begin, shown[rank].handles[i],
                                                     nvidia::cudaIpcMemLazyEnablePeerAccess);
      begins_[rank][i] = static_cast<std::byte*>(begin);
    }
  const std::vector<Opened> all = ranks.exchange(outcome);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].status != nvidia::cudaSuccess) {
      close();
      ranks.exchange(int32_t{0});  // who is told may free at once
      plugin::unsupported("rank " + std::to_string(rank) + " cannot open rank " +
                          std::to_string(all[rank].rank) + "'s memory (" + named(all[rank].status) +
                          ")" + kCure);
    }
}

PeerPlaces PeerMemory::at(size_t which, uint64_t offset) const {
  PeerPlaces places = {};
  for (size_t rank = 0; rank < begins_.size(); ++rank)
    if (std::byte* const begin = begins_[rank][which]) places.of[rank] = begin + offset;
  return places;
}

void PeerMemory::close() {
  for (size_t rank = 0; rank < begins_.size(); ++rank)
    for (std::byte* const begin : begins_[rank])
      if (rank != own_ && begin) cudart().cudaIpcCloseMemHandle(begin);
  begins_.clear();
}

// A device that is not to be seen in this process can be reached all the same.
std::string out_of_reach(const plugin::Ranks& ranks, int device) {
  Address own;
  std::strncpy(own.bus, device_facts(device).pci_bus_id.c_str(), sizeof own.bus - 1);
  const std::vector<Address> all = ranks.exchange(own);
  int32_t beyond = -1;
  for (int rank = 0; rank < ranks.size() && beyond < 0; ++rank) {
    int peer = 0, can = 1;
    if (rank == ranks.rank()) continue;
    if (cudart().cudaDeviceGetByPCIBusId(&peer, all[size_t(rank)].bus) == nvidia::cudaSuccess)
      CUDA_CHECK(cudart().cudaDeviceCanAccessPeer(&can, device, peer));
    cudart().cudaGetLastError();  // of a device that is not to be seen
    if (!can) beyond = rank;
  }
  const std::vector<int32_t> beyonds = ranks.exchange(beyond);
  for (size_t rank = 0; rank < beyonds.size(); ++rank)
    if (beyonds[rank] >= 0)
      return "the device of rank " + std::to_string(rank) + " (" + all[rank].bus +
             ") cannot reach the memory of rank " + std::to_string(beyonds[rank]) + "'s (" +
             all[size_t(beyonds[rank])].bus + "): no NVLink, and no way over PCIe";
  return "";
}

}  // namespace deepbench::cuda
