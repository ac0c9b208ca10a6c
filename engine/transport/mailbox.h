// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace ringscope::engine {

/// One side of a message between two virtual ranks. Times are steadyNow() nanoseconds.
struct Parcel {
  int from = 0, to = 0, tag = 0;
  const void* source = nullptr;  ///< the sender's memory
  void* target = nullptr;        ///< the receiver's memory
  std::size_t bytes = 0;
  std::int64_t posted_ns = 0;
  std::int64_t completed_ns = 0;
  bool copying = false;  ///< matched: the copy is being made, and nothing may free the memory
  bool done = false;
  std::string error;
};

/// Moves bytes between the ranks of one process. A message is exactly one copy, from the sender's
/// memory into the receiver's own buffer, made by whichever side comes second; nothing is buffered
/// between. Messages of one (from, to, tag) arrive in the order of sending. Knows no tensors.
/// Thread-safe.
class Mailbox {
 public:
  explicit Mailbox(int size);

  /// Both return at once. The memory must stay valid and, for a send, unchanged until wait()
  /// returns.
  std::shared_ptr<Parcel> send(int from, int to, int tag, const void* data, std::size_t bytes);
  std::shared_ptr<Parcel> receive(int to, int from, int tag, void* data, std::size_t bytes);

  /// Blocks until the parcel's copy is made. Throws runFailed when it was aborted, when the two
  /// sides disagree about the size, or after `timeout`, and names the peer that was waited for. A
  /// timeout aborts the mailbox: the message can no longer be taken back.
  void wait(Parcel& parcel, int waiting_rank, std::chrono::milliseconds timeout);
  bool done(const Parcel& parcel) const;

  /// Blocks until all ranks have come. Throws like wait().
  void barrier(int rank, std::chrono::milliseconds timeout);

  /// Ends every wait, now and later, with `reason`. The first reason stays.
  void abort(const std::string& reason);

 private:
  using Key = std::tuple<int, int, int>;
  struct Queue {
    std::deque<std::shared_ptr<Parcel>> sends, receives;
  };
  std::shared_ptr<Parcel> post(std::shared_ptr<Parcel> parcel, bool is_send);
  void deliver(Parcel& send, Parcel& receive);
  void checkRank(int rank) const;

  const int size_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Queue> queues_;
  std::vector<std::uint64_t> arrivals_;  // barriers that each rank has entered
  std::string aborted_;
};

}  // namespace ringscope::engine
