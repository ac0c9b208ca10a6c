// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "engine/transport/mailbox.h"

namespace ringscope::engine {

/// The state that the virtual ranks of one process share: a mailbox, and a board for the tensors of
/// a collective.
struct LocalWorld {
  explicit LocalWorld(int size) : mailbox(size), board(static_cast<std::size_t>(size)) {}
  Mailbox mailbox;
  /// The tensors of the current collective. The board keeps them alive, because another rank may
  /// still read a tensor whose rank was aborted.
  std::vector<at::Tensor> board;
};

/// A c10d backend for several virtual ranks in one process. Tensors are on the CPU, or on one GPU
/// on which each rank has its own stream. A point-to-point message is exactly one copy. Collectives
/// reduce in rank order, so results do not depend on the order of arrival. Each rank's thread has
/// its own instance.
class LocalBackend : public c10d::Backend {
 public:
  LocalBackend(GroupRank rank, int size, std::shared_ptr<LocalWorld> world,
               std::chrono::milliseconds timeout);

  const std::string getBackendName() const override { return "local"; }
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override;
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from, int tag) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;
  void abort() override;

 private:
  GroupRank rank() const { return GroupRank::of(getRank()); }
  /// Returns the tensors of all ranks in a collective, valid until leave(). Throws runFailed if
  /// they differ in shape or type.
  std::vector<at::Tensor> meet(at::Tensor& mine);
  /// Waits until all ranks have finished with the tensors of meet().
  void leave();

  std::shared_ptr<LocalWorld> world_;
  std::chrono::milliseconds timeout_;
};

/// A message of the local backend, with the times of its posting and its copy.
class LocalWork : public c10d::Work {
 public:
  LocalWork(std::shared_ptr<LocalWorld> world, std::shared_ptr<Parcel> parcel, GroupRank rank,
            std::chrono::milliseconds timeout);
  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout) override;
  const Parcel& parcel() const { return *parcel_; }

 private:
  std::shared_ptr<LocalWorld> world_;
  std::shared_ptr<Parcel> parcel_;
  GroupRank waiting_rank_;
  std::chrono::milliseconds default_timeout_;
};

}  // namespace ringscope::engine
