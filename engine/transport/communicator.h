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

/// What became of one side of one message. Times are steadyNow() nanoseconds.
struct TransferReport {
  bool is_send = false;
  GroupRank peer;
  std::int64_t bytes = 0;
  std::uint64_t flow = 0;     ///< equal on both sides of a message, unique in a run
  std::int64_t begin_ns = 0;  ///< posted
  std::int64_t start_ns = 0;  ///< began to move; begin_ns where the transport does not say
  std::int64_t end_ns = 0;
  traces::WorldRank peer_in_world;
};

/// One collective as one of its ranks saw it. Times are steadyNow() nanoseconds.
struct CollectiveReport {
  traces::Payload payload = traces::Payload::kNone;
  std::int64_t bytes = 0;  ///< that this rank put in
  std::uint64_t flow = 0;  ///< equal on all members, unique in a run
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// How the messages of an exchange are posted.
enum class Posting : std::uint8_t {
  kTogether,       ///< all at once, as one group
  kSendsFirst,     ///< each by itself, sends before receives
  kReceivesFirst,  ///< each by itself, receives before sends
};

/// Messages under way, in groups that were each posted at once. The tensors must not be touched
/// before all are waited for.
class Exchange {
 public:
  bool pending() const { return !groups_.empty(); }
  /// Of the next group: 1, 2, 3 … in the order in which this rank's communicator posted them.
  std::uint32_t number() const { return groups_.front().number; }
  /// The recorded id of the ranks among which the next group was posted.
  traces::GroupId amongRanks() const { return groups_.front().among; }
  /// The next group's first peer that something comes from; its first peer where nothing comes.
  traces::WorldRank firstPeer() const;
  /// What comes with the next group; where nothing comes, what goes.
  std::int64_t bytes() const;
  /// Blocks until the next group is done; it then is no longer pending. Throws runFailed when a
  /// peer is lost or silent past the timeout.
  std::vector<TransferReport> waitForNext();
  /// The same until all are done.
  std::vector<TransferReport> wait();

 private:
  friend class Communicator;
  struct Posted {
    std::vector<c10::intrusive_ptr<c10d::Work>> works;  // one for each report, or one for all
    std::vector<TransferReport> reports;
    traces::GroupId among;
    std::uint32_t number = 0;
  };
  std::deque<Posted> groups_;
};

/// One rank's seam above the transports: groups of messages and the few collectives that are
/// needed. Belongs to its rank's thread.
class Communicator {
 public:
  /// `group`: the recorded id of its members; messages of different groups have different flows.
  /// `members`: who they are, for whoever is told whom a rank waits for; none given: all ranks.
  explicit Communicator(c10::intrusive_ptr<c10d::Backend> backend,
                        traces::GroupId group = traces::GroupId::of(0),
                        std::vector<traces::WorldRank> members = {});

  GroupRank rank() const { return GroupRank::of(backend_->getRank()); }
  int size() const { return backend_->getSize(); }

  /// Posts all receives and sends at once, so that no order of ranks can deadlock; or each by
  /// itself, where ranks must then be told orders that cannot.
  Exchange exchange(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                    Posting posting = Posting::kTogether);
  traces::GroupId group() const { return group_; }

  /// Sums `tensor` over all ranks in place. `payload`: what it is, for the recording.
  void allReduceSum(at::Tensor& tensor, traces::Payload payload);
  /// Called after each collective of more than one rank, by the rank's thread.
  void onCollective(std::function<void(const CollectiveReport&)> report) {
    on_collective_ = std::move(report);
  }
  /// Bytes that this rank has put into reductions so far.
  std::int64_t reducedBytes() const { return reduced_bytes_; }
  void barrier();

 private:
  std::uint64_t flowOf(GroupRank from, GroupRank to);
  Exchange::Posted post(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                        bool at_once);
  traces::WorldRank worldRankOf(GroupRank rank) const;

  c10::intrusive_ptr<c10d::Backend> backend_;
  traces::GroupId group_;
  std::vector<traces::WorldRank> members_;  // empty: all ranks
  std::function<void(const CollectiveReport&)> on_collective_;
  std::uint32_t exchanges_ = 0, collectives_ = 0;
  std::vector<std::uint32_t> sent_, received_;  // messages so far, per peer
  std::int64_t reduced_bytes_ = 0;
};

}  // namespace ringscope::engine
