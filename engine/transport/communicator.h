// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace ringscope::engine {

struct Outgoing {
  at::Tensor tensor;
  int to;
};
struct Incoming {
  at::Tensor tensor;
  int from;
};

/// What became of one side of one message. Times are steadyNow() nanoseconds.
struct TransferReport {
  bool is_send = false;
  int peer = -1;
  std::int64_t bytes = 0;
  std::uint64_t flow = 0;  ///< equal on both sides of a message, unique in a run
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Messages under way. The tensors must not be touched before wait() returns.
class Exchange {
 public:
  bool pending() const { return !works_.empty(); }
  /// The first peer that something comes from; -1: nothing does.
  int firstSource() const;
  /// Blocks until all are done. Throws runFailed when a peer is lost or silent past the timeout.
  std::vector<TransferReport> wait();

 private:
  friend class Communicator;
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
  std::vector<TransferReport> reports_;
};

/// One rank's seam above the transports: groups of messages and the few collectives that are
/// needed. Belongs to its rank's thread.
class Communicator {
 public:
  explicit Communicator(c10::intrusive_ptr<c10d::Backend> backend);

  int rank() const { return backend_->getRank(); }
  int size() const { return backend_->getSize(); }

  /// Posts all receives and sends at once, so that no order of ranks can deadlock.
  Exchange exchange(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  /// Sums `tensor` over all ranks in place.
  void allReduceSum(at::Tensor& tensor);
  /// Bytes that this rank has put into reductions so far.
  std::int64_t reducedBytes() const { return reduced_bytes_; }
  void barrier();

 private:
  std::uint64_t flowOf(int from, int to);

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::vector<std::uint32_t> sent_, received_;  // messages so far, per peer
  std::int64_t reduced_bytes_ = 0;
};

}  // namespace ringscope::engine
