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

#include "traces/format/core/mutex.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

using traces::GroupRank;

/// Copies between two ranks' memories, complete when it returns.
using CopyBytes = void (*)(void* to, const void* from, std::size_t bytes);
void copyOnHost(void* to, const void* from, std::size_t bytes);

/// One side of a message between two virtual ranks. Times are steadyNow() nanoseconds.
struct Parcel {
  GroupRank from, to;
  int tag = 0;
  const void* source = nullptr;  ///< the sender's memory
  void* target = nullptr;        ///< the receiver's memory
  std::size_t bytes = 0;
  CopyBytes copy = copyOnHost;  ///< the sender's
  std::int64_t posted_ns = 0;
  std::int64_t started_ns = 0;  ///< when the copy began
  std::int64_t completed_ns = 0;
  std::shared_ptr<void> keeps;    ///< what keeps the memory, should its rank be gone by then
  std::shared_ptr<Parcel> other;  ///< the other side, from when both are there until the copy
  bool is_send = false;
  bool copying = false;
  bool done = false;
  std::string error;
};

/// Moves bytes between the ranks of one process. A message is exactly one copy, from the sender's
/// memory into the receiver's own buffer, made by whichever side first waits for it once both are
/// there, so that ranks that wait for their own messages copy side by side; nothing is buffered
/// between. Messages of one (from, to, tag) arrive in the order of sending. Knows no tensors.
/// Thread-safe.
class Mailbox {
 public:
  explicit Mailbox(int size);

  /// Both return at once. The memory must stay valid and, for a send, unchanged until wait()
  /// returns.
  std::shared_ptr<Parcel> send(GroupRank from, GroupRank to, int tag, const void* data,
                               std::size_t bytes, CopyBytes copy = copyOnHost,
                               std::shared_ptr<void> keeps = {});
  std::shared_ptr<Parcel> receive(GroupRank to, GroupRank from, int tag, void* data,
                                  std::size_t bytes, std::shared_ptr<void> keeps = {});

  /// Blocks until the parcel's copy is made. Throws runFailed when it was aborted, when the two
  /// sides disagree about the size, or after `timeout`, and names the peer that was waited for. A
  /// timeout aborts the mailbox: the message can no longer be taken back. `waiting_rank` is the
  /// sender or the receiver.
  void wait(Parcel& parcel, GroupRank waiting_rank, std::chrono::milliseconds timeout);
  /// Whether the copy is made; makes it when both sides are there.
  bool done(Parcel& parcel);

  /// Blocks until all ranks have come. Throws like wait().
  void barrier(GroupRank rank, std::chrono::milliseconds timeout);

  /// Ends every wait, now and later, with `reason`. The first reason stays.
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
  void checkRank(GroupRank rank) const;
  traces::Condition& changeOf(GroupRank rank) { return changes_[rank.index()]; }
  void wakeAll();

  const int size_;
  traces::Mutex mutex_;  // of each parcel's state too
  /// One a rank: a message wakes the two ranks that it concerns and leaves the others their cores.
  std::vector<traces::Condition> changes_;
  std::map<Key, Queue> queues_ RINGSCOPE_GUARDED_BY(mutex_);
  /// Barriers that each rank has entered.
  std::vector<std::uint64_t> arrivals_ RINGSCOPE_GUARDED_BY(mutex_);
  std::string aborted_ RINGSCOPE_GUARDED_BY(mutex_);
};

}  // namespace ringscope::engine
