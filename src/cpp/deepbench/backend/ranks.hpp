// The ranks of a collective that join() receives, and the checks that every library makes before it
// uses them. Header-only, for backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

class Ranks {
 public:
  Ranks() = default;  // no group: this process is the only rank
  // Refers to `group`, which must outlive this object.
  explicit Ranks(const deepbench_group& group)
      : group_(&group),
        rank_(group.rank),
        size_(group.size),
        local_rank_(group.local_rank),
        local_size_(group.local_size),
        address_(group.address ? group.address : "127.0.0.1") {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  const std::string& address() const { return address_; }
  int right() const { return (rank_ + 1) % size_; }
  int left() const { return (rank_ + size_ - 1) % size_; }

  // Whether a rank has ended, or failed in a call that all ranks take part in, so that the call
  // will never end. Any thread may call this.
  bool must_abort() const {
    return group_ && group_->must_abort && group_->must_abort(group_->context) != 0;
  }

  // Returns the value of every rank, in order of rank. All ranks call it, in prepare.
  template <class Plain>
  std::vector<Plain> exchange(const Plain& mine) const {
    static_assert(std::is_trivially_copyable_v<Plain>);
    std::vector<Plain> all(static_cast<size_t>(size_));
    exchange_bytes(&mine, sizeof mine, all.data());
    return all;
  }

 private:
  void exchange_bytes(const void* mine, size_t bytes, void* all) const {
    if (!group_) {
      std::memcpy(all, mine, bytes);
      return;
    }
    const deepbench_status status = group_->exchange(group_->context, mine, bytes, all);
    if (status != DEEPBENCH_OK) throw Error(status, "the ranks could not exchange what they need");
  }

  const deepbench_group* group_ = nullptr;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::string address_ = "127.0.0.1";
};

namespace internal {

inline Ranks& ranks_of_joined_group() {
  static Ranks all;
  return all;
}

}  // namespace internal

// The ranks of this process.
inline const Ranks& ranks() { return internal::ranks_of_joined_group(); }
inline void join_ranks(const deepbench_group& group) {
  internal::ranks_of_joined_group() = Ranks(group);
}

// Throws unsupported if this process is the only rank. `cure` is the option that starts ranks on
// this machine.
inline void require_ranks(std::string_view operation, const std::string& cure) {
  if (ranks().size() < 2)
    unsupported(std::string(operation) + " needs at least two ranks: " + cure +
                " starts them on this machine; mpirun, srun or torchrun start them on several "
                "(docs/guide/ranks.md)");
}

// Throws unsupported for a precision that no collective library supports.
inline void require_precision_of_ranks(std::string_view operation, std::string_view precision) {
  if (precision != "float" && precision != "half" && precision != "bfloat16")
    unsupported(std::string(operation) + " supports the precisions float, half and bfloat16");
}

}  // namespace deepbench::plugin
