// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "traces/format/schema/event.h"

namespace ringscope::engine {

using traces::GroupRank;

struct Outgoing {
  at::Tensor tensor;
  GroupRank to;
};
struct Incoming {
  at::Tensor tensor;
  GroupRank from;
};

/// The outcome of one side of a message. Times are steadyNow() nanoseconds.
struct TransferReport {
  bool is_send = false;
  GroupRank peer;
  std::int64_t bytes = 0;
  std::uint64_t flow = 0;     ///< equal on both sides of a message, unique within a run
  std::int64_t begin_ns = 0;  ///< posted
  std::int64_t start_ns = 0;  ///< began to move; begin_ns if the transport does not report it
  std::int64_t end_ns = 0;
  traces::WorldRank peer_in_world;
};

/// One collective as one of its ranks saw it. Times are steadyNow() nanoseconds.
struct CollectiveReport {
  traces::Payload payload = traces::Payload::kNone;
  std::int64_t bytes = 0;  ///< bytes that this rank contributed
  std::uint64_t flow = 0;  ///< equal on all members, unique within a run
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The way in which the messages of an exchange are posted.
enum class Posting : std::uint8_t {
  kTogether,       ///< all at once, as one group
  kSendsFirst,     ///< one by one, sends before receives
  kReceivesFirst,  ///< one by one, receives before sends
};

/// Messages in flight, in groups whose messages were posted together. The tensors must not be used
/// before all groups were waited for.
class Exchange {
 public:
  bool pending() const { return !groups_.empty(); }
  /// Returns the number of the next group: 1, 2, 3 … in the order in which this rank's communicator
  /// posted the groups.
  std::uint32_t number() const { return groups_.front().number; }
  /// Returns the recorded id of the ranks among which the next group was posted.
  traces::GroupId amongRanks() const { return groups_.front().among; }
  /// Returns the first peer from which the next group receives; the first peer if it receives
  /// nothing.
  traces::WorldRank firstPeer() const;
  /// Returns the bytes that the next group receives, or sends if it receives nothing.
  std::int64_t bytes() const;
  /// Blocks until the next group is done and removes it from the pending groups. Throws runFailed
  /// if a peer is lost or does not respond within the timeout.
  std::vector<TransferReport> waitForNext();
  /// Blocks until all groups are done. Throws like waitForNext().
  std::vector<TransferReport> wait();

 private:
  friend class Communicator;
  struct Posted {
    std::vector<c10::intrusive_ptr<c10d::Work>> works;  // one per report, or one for all
    std::vector<TransferReport> reports;
    traces::GroupId among;
    std::uint32_t number = 0;
  };
  std::deque<Posted> groups_;
};

/// The interface above the transports for one rank: groups of messages and a few collectives.
/// Belongs to its rank's thread.
class Communicator {
 public:
  /// Wraps a backend of the recorded group id `group`. Messages of different groups have different
  /// flows. The world ranks of the `members` are for reports of whom a rank waits for; empty: all
  /// ranks.
  explicit Communicator(c10::intrusive_ptr<c10d::Backend> backend,
                        traces::GroupId group = traces::GroupId::of(0),
                        std::vector<traces::WorldRank> members = {});

  GroupRank rank() const { return GroupRank::of(backend_->getRank()); }
  int size() const { return backend_->getSize(); }

  /// Posts receives and sends. kTogether posts them at once, so that no order of ranks can
  /// deadlock. The other values post them one by one; the caller must choose orders that cannot
  /// deadlock.
  Exchange exchange(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                    Posting posting = Posting::kTogether);
  traces::GroupId group() const { return group_; }

  /// Sums `tensor` over all ranks in place. `payload` says what it is, for the recording.
  void allReduceSum(at::Tensor& tensor, traces::Payload payload);
  /// Sets a function that the rank's thread calls after each collective of more than one rank.
  void onCollective(std::function<void(const CollectiveReport&)> report) {
    on_collective_ = std::move(report);
  }
  /// Returns the bytes that this rank has contributed to reductions so far.
  std::int64_t reducedBytes() const { return reduced_bytes_; }
  void barrier();

 private:
  std::uint64_t flowBetween(GroupRank from, GroupRank to);
  Exchange::Posted post(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                        bool at_once);
  traces::WorldRank toWorldRank(GroupRank rank) const;

  c10::intrusive_ptr<c10d::Backend> backend_;
  traces::GroupId group_;
  std::vector<traces::WorldRank> members_;  // empty: all ranks
  std::function<void(const CollectiveReport&)> on_collective_;
  std::uint32_t exchanges_ = 0, collectives_ = 0;
  std::vector<std::uint32_t> sent_, received_;  // number of messages so far, per peer
  std::int64_t reduced_bytes_ = 0;
};

}  // namespace ringscope::engine
