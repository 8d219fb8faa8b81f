// Members of a team spin for some hundred microseconds and then sleep.
#include "thread_team.hpp"

#include "affinity.hpp"
#include "deepbench/core/start_thread.hpp"

namespace deepbench::cpu {
namespace {

constexpr int kSpinsBetweenCalls = 1 << 14;

}  // namespace

ThreadTeam::ThreadTeam(const std::vector<int>& cpus)
    : cpus_(cpus), barrier_(uint32_t(cpus.size())) {
  members_->threads.reserve(cpus_.size());
  try {
    for (size_t member = 1; member < cpus_.size(); ++member)
      members_->threads.push_back(start_thread("a thread of the CPU backend",
                                               [this, member] { run_jobs_until_stopped(member); }));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  if (!members_.is_of_this_process()) return;
  job_ = nullptr;
  generation_.fetch_add(1);
  { const std::lock_guard lock(members_->mutex); }
  members_->wake.notify_all();
  for (std::thread& thread : members_->threads) thread.join();
}

void ThreadTeam::bind_caller() const { bind_this_thread(cpus_.front()); }

// A member increments the number of sleepers before it reads the generation, and the caller changes
// the generation before it reads the number of sleepers. Therefore at least one of them sees the
// other's change.
void ThreadTeam::wait_for_job(uint32_t seen) {
  for (int spins = 0; spins < kSpinsBetweenCalls; ++spins) {
    if (generation_.load(std::memory_order_acquire) != seen) return;
    pause_while_spinning();
  }
  std::unique_lock lock(members_->mutex);
  ++sleepers_;
  members_->wake.wait(lock, [&] { return generation_.load() != seen; });
  --sleepers_;
}

void ThreadTeam::run_jobs_until_stopped(size_t member) {
  bind_this_thread(cpus_[member]);
  for (uint32_t seen = 0;; ++seen) {
    wait_for_job(seen);
    if (!job_) return;
    (*job_)(member);
    barrier_.wait();
  }
}

void ThreadTeam::run(const std::function<void(size_t)>& job) {
  job_ = &job;
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) {
    { const std::lock_guard lock(members_->mutex); }
    members_->wake.notify_all();
  }
  job(0);
  barrier_.wait();
}

}  // namespace deepbench::cpu
