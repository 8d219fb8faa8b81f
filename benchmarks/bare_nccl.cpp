// Times ncclAllReduce as nccl-tests does, as a baseline for rows (benchmarks/against_nccl.py): one
// process per device; after a barrier 20 calls back to back (-n 20), out of place, by the host's
// clock until the stream is done; the mean over the ranks, and the median over the cycles. Times
// plain launches and the same calls in a graph (-G 1). Short calls are also timed 200 at a time (-n
// 200).
//   build/tests/bare_nccl DEVICES CYCLES ELEMENTS...
//
// Elements are floats. Prints: elements calls plain_us graph_us
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "graph.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace {

using namespace deepbench::cuda;
using Clock = std::chrono::steady_clock;

constexpr int kMaxDevices = 16, kCalls = 20, kManyCalls = 200, kWarmUp = 5;
constexpr double kShortUs = 100;  // for longer calls, the launch overhead of 20 calls is negligible
constexpr unsigned kLimitS = 300;  // for the whole run

// Memory that the processes share.
struct SharedMemory {
  std::atomic<int> arrived{0};
  deepbench::nvidia::ncclUniqueId id;
  double us[kMaxDevices];
};

class Rank {
 public:
  Rank(SharedMemory& shared, int rank, int ranks)
      : shared_(shared), rank_(rank), ranks_(ranks), stream_(Stream::of(rank)) {
    if (rank == 0) CUDA_CHECK(nccl().ncclGetUniqueId(&shared.id));
    barrier();
    CUDA_CHECK(nccl().ncclCommInitRank(&communicator_, ranks, shared.id, rank));
  }

  void run(int cycles, uint64_t elements) {
    const Buffer from(4 * elements, AllocationKind::kDedicated),
        to(4 * elements, AllocationKind::kDedicated);
    const auto calls = [&](int count) {
      for (int i = 0; i < count; ++i)
        CUDA_CHECK(nccl().ncclAllReduce(from.data(), to.data(), elements,
                                        deepbench::nvidia::ncclFloat32, deepbench::nvidia::ncclSum,
                                        communicator_, stream_.get()));
    };
    CUDA_CHECK(cudart().cudaMemsetAsync(from.data(), 0, from.bytes(), stream_.get()));
    calls(kWarmUp);
    stream_.synchronize();
    double plain = 0;
    for (const int count : {kCalls, kManyCalls}) {
      // The mean over all ranks, so all ranks agree.
      if (count == kManyCalls && plain >= kShortUs) break;
      plain = median_us(cycles, count, [&] { calls(count); });
      const Graph graph(stream_.get(), [&] { calls(count); });
      const double captured = median_us(cycles, count, [&] { graph.launch(stream_.get()); });
      if (rank_ == 0) std::printf("%zu %d %.3f %.3f\n", size_t(elements), count, plain, captured);
    }
    std::fflush(stdout);
  }

 private:
  void barrier() {
    ++barriers_;
    shared_.arrived.fetch_add(1);
    while (shared_.arrived.load() < barriers_ * ranks_) sched_yield();
  }

  double median_us(int cycles, int count, const std::function<void()>& enqueue) {
    std::vector<double> means;
    for (int cycle = -1; cycle < cycles; ++cycle) {  // the first cycle is the warm-up
      barrier();
      const auto begin = Clock::now();
      enqueue();
      while (cudart().cudaStreamQuery(stream_.get()) == deepbench::nvidia::cudaErrorNotReady) {
      }
      stream_.synchronize();
      const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
      shared_.us[rank_] = taken.count() / count;
      barrier();
      double sum = 0;
      for (int rank = 0; rank < ranks_; ++rank) sum += shared_.us[rank];
      if (cycle >= 0) means.push_back(sum / ranks_);
      barrier();
    }
    std::sort(means.begin(), means.end());
    return means[means.size() / 2];
  }

  SharedMemory& shared_;
  const int rank_, ranks_;
  int barriers_ = 0;
  Stream& stream_;
  deepbench::nvidia::ncclComm_t communicator_ = nullptr;
};

int run_rank(SharedMemory& shared, int rank, int ranks, int cycles, char** elements) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kLimitS);
  try {
    Rank worker(shared, rank, ranks);
    for (; *elements; ++elements) worker.run(cycles, std::strtoull(*elements, nullptr, 10));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

// Waits for the processes, ordered by rank. Returns 0 if all succeeded. If one fails, the others
// are terminated, since they would wait for it inside NCCL.
int wait_for_all(std::vector<pid_t> processes, bool all_started) {
  bool good = all_started;
  for (size_t left = processes.size(); left > 0; --left) {
    if (!good)
      for (const pid_t process : processes)
        if (process > 0) kill(process, SIGKILL);
    int status = 0;
    const auto ended = std::find(processes.begin(), processes.end(), wait(&status));
    if (ended == processes.end()) return 1;
    *ended = 0;
    if (status != 0 && good)
      std::fprintf(stderr, "rank %d ended with status %#x\n", int(ended - processes.begin()),
                   unsigned(status));
    good = good && status == 0;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 3 ? std::atoi(argv[1]) : 0, cycles = argc > 3 ? std::atoi(argv[2]) : 0;
  if (ranks < 1 || ranks > kMaxDevices || cycles < 1) {
    std::fprintf(stderr, "usage: bare_nccl DEVICES CYCLES ELEMENTS...\n");
    return 2;
  }
  void* const memory = mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  SharedMemory& shared = *new (memory) SharedMemory;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) _exit(run_rank(shared, rank, ranks, cycles, argv + 3));
    if (process < 0) {
      std::perror("fork");
      break;
    }
    processes.push_back(process);
  }
  const bool all_started = int(processes.size()) == ranks;
  return wait_for_all(std::move(processes), all_started);
}
