// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/communicator.h"

#include "engine/progress/progress_board.h"
#include "engine/transport/local_backend.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

std::vector<TransferReport> Exchange::waitForNext() {
  Posted& group = groups_.front();
  const std::size_t works = group.works.size();
  for (std::size_t i = 0; i < works; ++i) {
    const WaitReport waiting(group.reports[i].peer_in_world);
    group.works[i]->wait();
    const auto* local = dynamic_cast<const LocalWork*>(group.works[i].get());
    const std::int64_t end = local ? local->parcel().completed_ns : traces::steadyNow();
    // One work may stand for all messages.
    for (std::size_t r = i; r < (works == 1 ? group.reports.size() : i + 1); ++r) {
      group.reports[r].start_ns = local ? local->parcel().started_ns : group.reports[r].begin_ns;
      group.reports[r].end_ns = end;
    }
  }
  std::vector<TransferReport> reports = std::move(group.reports);
  groups_.pop_front();
  return reports;
}

std::vector<TransferReport> Exchange::wait() {
  std::vector<TransferReport> all;
  while (pending())
    for (const TransferReport& report : waitForNext()) all.push_back(report);
  return all;
}

traces::WorldRank Exchange::firstPeer() const {
  const auto& reports = groups_.front().reports;
  for (const TransferReport& report : reports)
    if (!report.is_send) return report.peer_in_world;
  return reports.front().peer_in_world;
}

std::int64_t Exchange::bytes() const {
  std::int64_t come = 0, go = 0;
  for (const TransferReport& report : groups_.front().reports)
    (report.is_send ? go : come) += report.bytes;
  return come > 0 ? come : go;
}

namespace {

// A flow combines its group, both ends and the number of the message between them. Ends are ranks
// of the group, counted from 1. A collective has no ends, so its flow differs from every message's.
constexpr int kCountBits = 28, kEndBits = 10;

std::uint64_t flowNumber(traces::GroupId group, GroupRank from, GroupRank to, std::uint32_t count) {
  const auto end = [](GroupRank rank) { return static_cast<std::uint64_t>(rank.value()) + 1; };
  const std::uint64_t ends = (end(from) << kEndBits) | end(to);
  return (static_cast<std::uint64_t>(group.value()) << (kCountBits + 2 * kEndBits)) |
         (ends << kCountBits) | (count & ((1u << kCountBits) - 1));
}

}  // namespace

Communicator::Communicator(c10::intrusive_ptr<c10d::Backend> backend, traces::GroupId group,
                           std::vector<traces::WorldRank> members)
    : backend_(std::move(backend)),
      group_(group),
      members_(std::move(members)),
      sent_(static_cast<std::size_t>(backend_->getSize()), 0),
      received_(sent_) {}

traces::WorldRank Communicator::toWorldRank(GroupRank rank) const {
  return members_.empty() ? traces::WorldRank::of(rank.value()) : members_[rank.index()];
}

std::uint64_t Communicator::flowBetween(GroupRank from, GroupRank to) {
  const GroupRank other = from == rank() ? to : from;
  if (other.isNone() || other.value() >= size())
    throw runFailed("there is no rank " + toString(other) + " in a group of " +
                    std::to_string(size()));
  auto& count = from == rank() ? sent_[to.index()] : received_[from.index()];
  return flowNumber(group_, from, to, ++count);
}

Exchange Communicator::exchange(const std::vector<Outgoing>& sends,
                                const std::vector<Incoming>& receives, Posting posting) {
  Exchange exchange;
  const auto post_each = [&](const auto& messages, const auto& post_one) {
    for (const auto& message : messages) exchange.groups_.push_back(post_one(message));
  };
  const auto post_sends = [&] {
    post_each(sends, [this](const Outgoing& send) { return post({send}, {}, false); });
  };
  if (posting == Posting::kSendsFirst) post_sends();
  if (posting != Posting::kTogether)
    post_each(receives, [this](const Incoming& receive) { return post({}, {receive}, false); });
  else if (!sends.empty() || !receives.empty())
    exchange.groups_.push_back(post(sends, receives, true));
  if (posting == Posting::kReceivesFirst) post_sends();
  return exchange;
}

Exchange::Posted Communicator::post(const std::vector<Outgoing>& sends,
                                    const std::vector<Incoming>& receives, bool at_once) {
  Exchange::Posted group;
  group.among = group_;
  group.number = ++exchanges_;
  // NCCL runs separately posted operations one after the other, which can deadlock, so they are
  // posted as one group.
  const bool grouped = at_once && backend_->supportsCoalescing();
  auto add = [&](c10::intrusive_ptr<c10d::Work> work) {
    if (!grouped) group.works.push_back(std::move(work));
  };
  if (grouped) backend_->startCoalescing();
  auto report = [&](bool is_send, GroupRank peer, const at::Tensor& tensor) {
    const std::uint64_t flow = is_send ? flowBetween(rank(), peer) : flowBetween(peer, rank());
    group.reports.push_back(
        {is_send, peer, static_cast<std::int64_t>(tensor.nbytes()), flow, traces::steadyNow()});
    group.reports.back().peer_in_world = toWorldRank(peer);
  };
  for (const Incoming& incoming : receives) {
    std::vector<at::Tensor> tensors{incoming.tensor};
    report(false, incoming.from, incoming.tensor);
    add(backend_->recv(tensors, incoming.from.value(), 0));
  }
  for (const Outgoing& outgoing : sends) {
    std::vector<at::Tensor> tensors{outgoing.tensor};
    report(true, outgoing.to, outgoing.tensor);
    add(backend_->send(tensors, outgoing.to.value(), 0));
  }
  if (grouped) group.works.push_back(backend_->endCoalescing());
  return group;
}

void Communicator::allReduceSum(at::Tensor& tensor, traces::Payload payload) {
  CollectiveReport report;
  report.payload = payload;
  report.bytes = static_cast<std::int64_t>(tensor.nbytes());
  report.flow = flowNumber(group_, GroupRank::none(), GroupRank::none(), ++collectives_);
  report.begin_ns = traces::steadyNow();
  reduced_bytes_ += report.bytes;
  const WaitReport waiting(traces::WorldRank::none());
  // NCCL only reduces on the GPU.
  const bool carried = tensor.is_cpu() && backend_->supportsCoalescing();
  std::vector<at::Tensor> tensors{carried ? tensor.to(at::kCUDA) : tensor};
  backend_->allreduce(tensors, c10d::AllreduceOptions())->wait();
  if (carried) tensor.copy_(tensors.front());
  report.end_ns = traces::steadyNow();
  if (on_collective_ && size() > 1) on_collective_(report);
}

void Communicator::barrier() {
  const WaitReport waiting(traces::WorldRank::none());
  backend_->barrier(c10d::BarrierOptions())->wait();
}

}  // namespace ringscope::engine
