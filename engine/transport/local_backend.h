// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "engine/transport/mailbox.h"

namespace ringscope::engine {

/// What the virtual ranks of one process share: a mailbox, and a board on which the ranks of a
/// collective put their tensors.
struct LocalWorld {
  explicit LocalWorld(int size) : mailbox(size), board(static_cast<std::size_t>(size)) {}
  Mailbox mailbox;
  /// Holds the tensors: a rank that an abort ends takes none away from who still computes with it.
  std::vector<at::Tensor> board;
};

/// c10d backend for several virtual ranks in one process (CPU tensors, or
/// those of one GPU, on which each rank has its own stream): point to point by exactly
/// one copy; collectives reduce in rank order, so results do not depend on who comes first.
/// Each rank's thread has its own instance.
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
  /// The tensors of all ranks in a collective, until leave(). Throws runFailed where they differ in
  /// shape or type.
  std::vector<at::Tensor> meet(at::Tensor& mine);
  /// When all ranks have computed what they wanted.
  void leave();

  std::shared_ptr<LocalWorld> world_;
  std::chrono::milliseconds timeout_;
};

/// A message of the local backend; says when it was posted and when its copy was made.
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
