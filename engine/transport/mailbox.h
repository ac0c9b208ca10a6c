// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/queue/host_queue.h"
#include "traces/format/core/mutex.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

using traces::GroupRank;

/// A function that copies between two ranks' memories and returns when the copy is complete.
using CopyBytes = void (*)(void* to, const void* from, std::size_t bytes);
void copyOnHost(void* to, const void* from, std::size_t bytes);

/// One side of a message between two virtual ranks. Times are steadyNow() nanoseconds.
struct Parcel {
  GroupRank from, to;
  int tag = 0;
  const void* source = nullptr;  ///< the sender's memory
  void* target = nullptr;        ///< the receiver's memory
  std::size_t bytes = 0;
  CopyBytes copy = copyOnHost;  ///< the sender's function
  std::int64_t posted_ns = 0;
  std::int64_t started_ns = 0;  ///< when the copy began
  std::int64_t completed_ns = 0;
  std::shared_ptr<void> keeps;    ///< keeps the memory alive if its rank ends first
  std::shared_ptr<Parcel> other;  ///< the other side, from the time that both are posted until the
                                  ///< copy
  bool is_send = false;
  bool copying = false;
  bool done = false;
  std::string error;
};

/// The size from which a message between memories of the host is copied beside the ranks' work.
/// Below it, handing the copy to another thread takes longer than the copy.
inline constexpr std::size_t kLeastQueuedBytes = std::size_t{64} << 10;

/// A mailbox that moves bytes between the ranks of one process. A message is exactly one copy from
/// the sender's memory to the receiver's buffer, without an intermediate buffer. A queue of the
/// receiver makes the copy as soon as both sides are posted, while the ranks go on. A small
/// message, or one of a GPU, is copied by the side that first waits. Messages with the same (from,
/// to, tag) arrive in the order of sending. The mailbox handles bytes only, not tensors.
/// Thread-safe.
class Mailbox {
 public:
  /// Host messages of at least `least_queued_bytes` are copied by queues.
  explicit Mailbox(int size, std::size_t least_queued_bytes = kLeastQueuedBytes);

  /// Posts a send and returns at once. The memory must stay valid and unchanged until wait()
  /// returns.
  std::shared_ptr<Parcel> send(GroupRank from, GroupRank to, int tag, const void* data,
                               std::size_t bytes, CopyBytes copy = copyOnHost,
                               std::shared_ptr<void> keeps = {});
  /// Posts a receive and returns at once. The memory must stay valid until wait() returns.
  std::shared_ptr<Parcel> receive(GroupRank to, GroupRank from, int tag, void* data,
                                  std::size_t bytes, std::shared_ptr<void> keeps = {});

  /// Blocks until the parcel's copy is made. Throws runFailed that names the peer if the mailbox
  /// was aborted, if the two sides disagree about the size, or after `timeout`. A timeout aborts
  /// the mailbox, because the message cannot be withdrawn. `waiting_rank` is the sender or the
  /// receiver.
  void wait(Parcel& parcel, GroupRank waiting_rank, std::chrono::milliseconds timeout);
  /// Returns whether the copy is made; makes it if both sides are posted.
  bool done(Parcel& parcel);

  /// Blocks until all ranks have called barrier(). Throws like wait().
  void barrier(GroupRank rank, std::chrono::milliseconds timeout);

  /// Ends all current and later waits with `reason`. Only the first reason is kept.
  void abort(const std::string& reason);

 private:
  using Key = std::tuple<GroupRank, GroupRank, int>;
  struct Queue {
    std::deque<std::shared_ptr<Parcel>> sends, receives;
  };
  std::shared_ptr<Parcel> post(std::shared_ptr<Parcel> parcel);
  static bool ready(const Parcel& parcel) { return parcel.other && !parcel.copying; }
  static std::string copied(const Parcel& send, const Parcel& receive);
  void deliver(Parcel& parcel) RINGSCOPE_REQUIRES(mutex_);
  void copyAndFinish(Parcel& parcel, Parcel& other);
  void checkRank(GroupRank rank) const;
  traces::Condition& conditionFor(GroupRank rank) { return changes_[rank.index()]; }
  void wakeAll();

  const int size_;
  const std::size_t least_queued_bytes_;
  traces::Mutex mutex_;  // guards the state of each parcel too
  /// One per rank, so that a message wakes only its two ranks.
  std::vector<traces::Condition> changes_;
  std::map<Key, Queue> queues_ RINGSCOPE_GUARDED_BY(mutex_);
  /// The number of barriers that each rank has entered.
  std::vector<std::uint64_t> arrivals_ RINGSCOPE_GUARDED_BY(mutex_);
  std::string aborted_ RINGSCOPE_GUARDED_BY(mutex_);
  std::vector<HostQueue> copies_;  ///< by receiver; last, as their work uses all of the above
};

}  // namespace ringscope::engine
