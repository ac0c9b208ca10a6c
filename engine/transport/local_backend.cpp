// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/local_backend.h"

#include "engine/gpu/gpu.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

/// A collective that is complete when its call returns.
class FinishedWork : public c10d::Work {
 public:
  FinishedWork() { finish(); }
};

at::Tensor& only(std::vector<at::Tensor>& tensors) {
  if (tensors.size() != 1) throw usageError("the local transport moves one tensor a call");
  at::Tensor& tensor = tensors.front();
  if (!tensor.is_cpu() && !tensor.is_cuda())
    throw usageError("the local transport moves tensors of CPUs and NVIDIA GPUs only");
  if (!tensor.is_contiguous())
    throw usageError("the local transport moves contiguous tensors only");
  return tensor;
}

/// Waits until a tensor is complete before another rank reads it. A GPU works asynchronously, and
/// each rank has its own stream.
void complete(const at::Tensor& tensor) {
  if (tensor.is_cuda()) gpu::synchronize();
}

std::size_t bytesFrom(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.nbytes());
}

}  // namespace

LocalBackend::LocalBackend(GroupRank rank, int size, std::shared_ptr<LocalWorld> world,
                           std::chrono::milliseconds timeout)
    : Backend(rank.value(), size), world_(std::move(world)), timeout_(timeout) {}

c10::intrusive_ptr<c10d::Work> LocalBackend::send(std::vector<at::Tensor>& tensors, int to,
                                                  int tag) {
  at::Tensor& tensor = only(tensors);
  complete(tensor);
  auto parcel = world_->mailbox.send(
      rank(), GroupRank::of(to), tag, tensor.data_ptr(), bytesFrom(tensor),
      tensor.is_cuda() ? gpu::copyBytes : copyOnHost, std::make_shared<at::Tensor>(tensor));
  return c10::make_intrusive<LocalWork>(world_, std::move(parcel), rank(), timeout_);
}

c10::intrusive_ptr<c10d::Work> LocalBackend::recv(std::vector<at::Tensor>& tensors, int from,
                                                  int tag) {
  at::Tensor& tensor = only(tensors);
  complete(tensor);  // other work may still read the buffer
  auto parcel = world_->mailbox.receive(rank(), GroupRank::of(from), tag, tensor.data_ptr(),
                                        bytesFrom(tensor), std::make_shared<at::Tensor>(tensor));
  return c10::make_intrusive<LocalWork>(world_, std::move(parcel), rank(), timeout_);
}

std::vector<at::Tensor> LocalBackend::meet(at::Tensor& mine) {
  complete(mine);
  world_->board[rank().index()] = mine;
  world_->mailbox.barrier(rank(), timeout_);
  for (const at::Tensor& theirs : world_->board)
    if (mine.sizes() != theirs.sizes() || mine.scalar_type() != theirs.scalar_type()) {
      const std::string reason =
          "the ranks of a collective hold tensors of different shapes or types";
      world_->mailbox.abort(reason);
      throw runFailed(reason);
    }
  return world_->board;
}

void LocalBackend::leave() {
  world_->mailbox.barrier(rank(), timeout_);
  world_->board[rank().index()] = at::Tensor();
}

c10::intrusive_ptr<c10d::Work> LocalBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                       const c10d::AllreduceOptions& options) {
  if (options.reduceOp != c10d::ReduceOp::SUM)
    throw usageError("the local transport reduces by sum only");
  at::Tensor& mine = only(tensors);
  auto all = meet(mine);
  // Every rank reduces its own slice of all tensors, in rank order, and writes the sum to all of
  // them.
  const std::int64_t count = mine.numel();
  const std::int64_t begin = count * getRank() / getSize();
  const std::int64_t end = count * (getRank() + 1) / getSize();
  auto slice = [&](const at::Tensor& tensor) { return tensor.view(-1).slice(0, begin, end); };
  if (end > begin) {
    at::Tensor sum = slice(all.front()).clone();
    for (std::size_t r = 1; r < all.size(); ++r) sum += slice(all[r]);
    for (const at::Tensor& tensor : all) slice(tensor).copy_(sum);
  }
  complete(mine);
  all.clear();  // the tensors of other ranks must not be used after leave()
  leave();
  return c10::make_intrusive<FinishedWork>();
}

c10::intrusive_ptr<c10d::Work> LocalBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                             const c10d::AllgatherOptions&) {
  if (output.numel() != input.numel() * getSize() || !output.is_contiguous() ||
      !input.is_contiguous())
    throw usageError("all-gather needs a contiguous output of world_size times the input");
  auto all = meet(input);
  const auto parts = output.view({getSize(), input.numel()});
  for (std::size_t r = 0; r < all.size(); ++r)
    parts[static_cast<std::int64_t>(r)].copy_(all[r].view(-1));
  complete(output);
  all.clear();
  leave();
  return c10::make_intrusive<FinishedWork>();
}

c10::intrusive_ptr<c10d::Work> LocalBackend::barrier(const c10d::BarrierOptions&) {
  world_->mailbox.barrier(rank(), timeout_);
  return c10::make_intrusive<FinishedWork>();
}

void LocalBackend::abort() {
  world_->mailbox.abort("rank " + std::to_string(getRank()) + " aborted");
}

LocalWork::LocalWork(std::shared_ptr<LocalWorld> world, std::shared_ptr<Parcel> parcel,
                     GroupRank rank, std::chrono::milliseconds timeout)
    : world_(std::move(world)),
      parcel_(std::move(parcel)),
      waiting_rank_(rank),
      default_timeout_(timeout) {}

bool LocalWork::isCompleted() {
  return world_->mailbox.done(*parcel_);
}

bool LocalWork::wait(std::chrono::milliseconds timeout) {
  world_->mailbox.wait(*parcel_, waiting_rank_, timeout == kNoTimeout ? default_timeout_ : timeout);
  return true;
}

}  // namespace ringscope::engine
