// The ranks that this process is one of, as join() has left them.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "deepbench/plugin.hpp"

namespace deepbench::cpu {

class Ranks {
 public:
  Ranks() = default;  // this process alone
  // Keeps the group, which stays valid.
  explicit Ranks(const deepbench_group& group);

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  const std::string& address() const { return address_; }
  int right() const { return (rank_ + 1) % size_; }
  int left() const { return (rank_ + size_ - 1) % size_; }

  // Every rank's `mine`, in order of rank. For prepare, by all ranks alike.
  template <class Plain>
  std::vector<Plain> exchange(const Plain& mine) const {
    static_assert(std::is_trivially_copyable_v<Plain>);
    std::vector<Plain> all(static_cast<size_t>(size_));
    exchange_bytes(&mine, sizeof mine, all.data());
    return all;
  }

 private:
  void exchange_bytes(const void* mine, size_t bytes, void* all) const;

  const deepbench_group* group_ = nullptr;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::string address_ = "127.0.0.1";
};

// This process'.
const Ranks& ranks();
void join(const deepbench_group& group);

// Throws unsupported where this process is alone, with what to do about it.
void require_ranks();

}  // namespace deepbench::cpu
